package rollout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/provider"
)

// contentHash is the address of a release: of its services by name, in the form
// that records keep them in. Maps are sorted in it; lists are as they are, since
// their order can matter.
func contentHash(services []provider.ServiceSnapshot) (string, error) {
	sorted := slices.Clone(services)
	slices.SortFunc(sorted, func(a, b provider.ServiceSnapshot) int { return cmp.Compare(a.Name, b.Name) })
	return hashOf("berth release 1\n", sorted)
}

// requestDigest recognises the same list of services.
func requestDigest(services []provider.ServiceDeploySpec) (string, error) {
	sorted := slices.Clone(services)
	slices.SortFunc(sorted, func(a, b provider.ServiceDeploySpec) int { return cmp.Compare(a.Name, b.Name) })
	return hashOf("berth request 1\n", sorted)
}

// provisionDigest recognises the same request for a workload.
func provisionDigest(req provider.ProvisionRequest) (string, error) {
	req.Services = provider.CloneServices(req.Services)
	return hashOf("berth provision 1\n", req)
}

func hashOf(domain string, v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("hash: %w", err)
	}
	sum := sha256.Sum256(append([]byte(domain), text...))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// snapshots records services.
func snapshots(services []provider.ServiceSpec) []provider.ServiceSnapshot {
	out := make([]provider.ServiceSnapshot, len(services))
	for i, s := range services {
		out[i] = provider.SnapshotOf(s)
	}
	return out
}
