package dockerprovider

import (
	"context"

	"github.com/distribution/reference"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
)

// The values of credentials that log in to a registry.
const (
	credentialUsername = "username"
	credentialPassword = "password"
	credentialServer   = "server"
)

// registryAuth is the login that the caller's credentials hold. It goes to the
// registry that they name, or to that of the main image, and to no other.
func registryAuth(ctx context.Context, mainImage string) func(ref string) *docker.RegistryAuth {
	creds, ok := provider.CredentialsFromContext(ctx)
	if !ok || creds.Values[credentialUsername] == "" && creds.Values[credentialPassword] == "" {
		return func(string) *docker.RegistryAuth { return nil }
	}
	auth := docker.RegistryAuth{Username: creds.Values[credentialUsername], Password: creds.Values[credentialPassword]}
	server := creds.Values[credentialServer]
	if server == "" {
		server = registryOf(mainImage)
	}
	return func(ref string) *docker.RegistryAuth {
		if registryOf(ref) != server || server == "" {
			return nil
		}
		one := auth
		one.ServerAddress = server
		return &one
	}
}

// registryOf is the host of an image's registry, or "" for what is no reference.
func registryOf(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	return reference.Domain(named)
}
