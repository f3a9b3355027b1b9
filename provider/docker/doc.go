// Package docker is a provider.Provider on one Docker engine.
//
// Who calls it: Go programs that want workloads to run on an engine, here or
// elsewhere, and the daemon for the providers that it is configured with. The driver
// advances only in Step, so a program calls provider.Await after Provision and Deploy, or
// steps by itself when Watch says that something happened.
//
//	p, err := docker.New(docker.Options{State: state, Vault: vault})
//	...
//	defer p.Close()
//	_, err = p.Provision(ctx, req)
//	...
//	status, err := provider.Await(ctx, p, req.InstanceID, p.ReadinessPolicy())
//
// Containers run with no new privileges and without any kernel capability but
// those that images need that start as root and change to another user. Config
// files and secrets are put into volumes of the container's own before it starts. What the
// driver cannot do is refused by the name of the field; docs/reference/provider-fields.md
// lists every field.
//
// What must never happen here: a type of the engine's in a signature, a
// decision; both belong to internal/dockerprovider.
package docker
