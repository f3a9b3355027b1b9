package config

import (
	"crypto/sha256"
	"encoding/hex"
)

// HashRuntime is the hash of what is pushed to a machine that runs: its
// variables. A change of it replaces no machine.
func HashRuntime(m *MergedConfig) string {
	return hash(struct {
		Vars map[string]string `json:"vars,omitempty"`
	}{m.Vars})
}

// HashInfra is the hash of what a machine is made of: kind, architecture, type,
// pool, arguments and the source of its user data. A machine whose group has
// another one has drifted. What a source or an image name stands for at the time
// is not in it, nor is what was left out: a new field changes no old hash.
func HashInfra(m *MergedConfig) string {
	return hash(struct {
		Args         map[string]any `json:"args,omitempty"`
		InstanceType string         `json:"instance_type,omitempty"`
		SubnetPool   string         `json:"subnet_pool,omitempty"`
		Userdata     *Userdata      `json:"userdata,omitempty"`
		Kind         string         `json:"kind,omitempty"`
		Arch         string         `json:"arch,omitempty"`
	}{m.Args, m.InstanceType, m.SubnetPool, m.Userdata, m.Kind, m.Arch})
}

// hash is "sha256:" and 64 hex digits of the canonical JSON, and empty, which is
// the hash of nothing, for what is no JSON.
func hash(form any) string {
	raw, err := canonical(form)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}
