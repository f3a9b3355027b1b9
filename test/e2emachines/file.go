package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/netns"
)

const (
	tenant = "acme"
	group  = "web"
)

// kind is what machines are made by and of.
type kind struct {
	name     string
	open     infra.OpenFunc
	settings map[string]any
	subnets  []string // one pool
	size     int
	timings  map[string]string
	gc       map[string]string
	runcmd   string        // ends the user data
	within   time.Duration // a group of them does what it is told
	leaves   []string      // what there is of them and of an app, in the words of left.go
}

// dir is where their folders are.
func (k kind) dir() string {
	dir, _ := k.settings["dir"].(string)
	return dir
}

// spaces are machines of namespaces.
func (s *stand) spaces() kind {
	return kind{
		name: netns.Kind, size: s.o.machines, subnets: []string{"main"},
		open: func(ctx context.Context, o infra.Options) (infra.Provider, error) { return netns.Open(ctx, o) },
		settings: map[string]any{
			"dir":     filepath.Join(s.dir, "machines"),
			"program": []string{s.program("berth-node"), "netns-init"},
			"agent":   []string{s.program("berth-node"), "agent"},
			"subnets": map[string]string{"main": s.o.pool},
		},
		within:  4 * time.Minute, // the file is taken up within ten seconds, and a machine is there within a few
		leaves:  []string{"record", "node", "folder", "network namespace", "link", "cgroup", "mount", "process", "network"},
		timings: map[string]string{"health_check_interval": "5s", "default_drain_timeout": "2m", "retry_min": "1s"},
	}
}

// machinesFile is the file of machines, and what stands in it.
type machinesFile struct {
	path                           string
	cluster                        string
	kind                           kind
	registrations, agents, ingress string
	size                           int // of the group; 0 is that there is none
	edition                        int // of the template
}

func (f *machinesFile) owner() infra.Owner { return infra.Owner{ClusterID: f.cluster, Shard: "one"} }

// userdata is what a machine begins with. It is a template, of which the strings come
// out quoted as JSON and YAML have them.
const userdata = `#cloud-config
# edition %d
write_files:
  - path: /var/lib/berth/agent/ca.crt
    content: {{ printf "%%q" .Cluster.CACert }}
  - path: /var/lib/berth/agent/nonce.jwt
    permissions: "0600"
    content: {{ .Nonce }}
  - path: /var/lib/berth/agent/bootstrap.json
    permissions: "0600"
    content: '{"cluster_id":"{{ .Cluster.ID }}","shard":"{{ .Server.Shard }}","instance_id":"{{ .Instance.ID }}","registration_addr":"{{ .Server.RegistrationAddr }}","agent_addr":"{{ .Server.AgentAddr }}","ingress_addr":"{{ .Server.IngressAddr }}"}'
`

// write puts the file in place at once.
func (f *machinesFile) write() error {
	type object = map[string]any
	groups := object{}
	if f.size > 0 {
		groups[tenant] = object{group: object{"template": "node", "size": f.size}}
	}
	template := object{"kind": "nod", "arch": "amd64", "userdata": object{"content": fmt.Sprintf(userdata, f.edition) + f.kind.runcmd}}
	shard := object{
		"name":     f.owner().Shard,
		"provider": object{"kind": f.kind.name, "options": f.kind.settings},
		"server":   object{"registration_addr": f.registrations, "agent_addr": f.agents, "ingress_addr": f.ingress},
		"timings":  f.kind.timings,
		"gc":       f.kind.gc,
	}
	if f.kind.gc == nil {
		delete(shard, "gc")
	}
	if len(f.kind.subnets) > 0 {
		shard["subnet_pools"] = object{"machines": f.kind.subnets}
		template["subnet_pool"] = "machines"
	}
	text, err := json.MarshalIndent(object{
		"cluster": object{"id": f.cluster}, "shard": shard, "templates": object{"node": template}, "groups": groups,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(f.path+".new", f.path)
}
