package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/shard"
	agentwire "github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// TestMachineScripts runs berth machine against machines on paper.
func TestMachineScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/machine",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			paper := &paperMachines{}
			d, err := apitest.Start(func(deps *api.Deps) { deps.Machines = paper })
			if err != nil {
				return err
			}
			env.Defer(func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
			env.Values["machines"] = paper
			env.Setenv("BERTH_SOCKET", d.Socket)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":  wantCode,
			"state": setMachines,
		},
	})
}

// setMachines is `state empty|follower|full`.
func setMachines(ts *testscript.TestScript, _ bool, args []string) {
	p := ts.Value("machines").(*paperMachines)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = args[0]
}

// paperMachines are two groups of which nothing ever changes but what is asked.
type paperMachines struct {
	mu    sync.Mutex
	state string
}

var _ api.Machines = (*paperMachines)(nil)

const (
	readyID  = "wrk06h2r0gmwdv7590v8v9a4pz8hg"
	silentID = "wrk06h2r0j0hsrhq6j3y2zdysgs94"
	batchID  = "wrk06h2r0jb7nvfbfzxpc8kexj0mc"
	goneID   = "wrk06h2r0jf1drevfa3b527wzcx4m"
)

func (p *paperMachines) fails() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == "follower" {
		return fmt.Errorf("%w: server-b does, or did until now", shard.ErrNotLeading)
	}
	return nil
}

func (p *paperMachines) all(gone bool) []shard.Machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == "empty" {
		return nil
	}
	at := apitest.Epoch
	all := []shard.Machine{
		{
			ID: readyID, Tenant: "acme", Group: "web", Template: "node", Type: "2x4", Status: shard.StatusReady, Online: true,
			IPv4: "10.1.0.5", Hostname: "web\x1b[2J-1", ProviderID: "i-1", CreatedAt: at, RegisteredAt: at.Add(20 * time.Second),
			HeardAt: at.Add(5*time.Minute - 4*time.Second), CertExpiresAt: at.Add(24 * time.Hour),
			Node: &hub.Node{
				Remote: "10.1.0.5:40000", Version: "0.1.0", BootID: "boot", Connected: at.Add(time.Minute),
				Facts:   agentwire.Facts{OS: "linux", Arch: "amd64", Kernel: "6.1.0", CPUs: 2, MemoryBytes: 4 << 30},
				Metrics: agentwire.Metrics{Load1: 0.25, MemoryAvailableBytes: 3 << 30, UptimeSeconds: 300},
			},
		},
		{
			ID: silentID, Tenant: "acme", Group: "web", Template: "node", Status: shard.StatusSilent, IPv4: "10.1.0.6",
			CreatedAt: at.Add(time.Minute), RegisteredAt: at.Add(2 * time.Minute), Reason: "its agent is not connected",
		},
		{
			ID: batchID, Tenant: "acme", Group: "web", OnDemand: true, Status: shard.StatusRefused, CreatedAt: at.Add(4 * time.Minute),
			Reason: "the template does not work",
		},
	}
	if gone {
		all = append(all, shard.Machine{ID: goneID, Tenant: "beta", Group: "db", Status: shard.StatusDeleted, CreatedAt: at})
	}
	return all
}

func (p *paperMachines) Groups(context.Context) ([]shard.Group, error) {
	if err := p.fails(); err != nil {
		return nil, err
	}
	if len(p.all(false)) == 0 {
		return nil, nil
	}
	return []shard.Group{
		{
			Tenant: "acme", Name: "web", Template: "node", Size: 2, OnDemand: 1, Machines: map[string]int{"ready": 1, "silent": 1},
			Conditions: []reconcile.Condition{
				{Type: "Ready", Status: reconcile.False, Reason: "MachinesUnhealthy", Message: "1 of 2 machines are ready, 1 do not answer or do not run", LastTransitionTime: apitest.Epoch},
				{Type: "UpToDate", Status: reconcile.True, Reason: "Current"},
			},
		},
		{Tenant: "beta", Name: "db", Absent: true, Machines: map[string]int{}, Error: "the store is away", Failures: 3},
	}, nil
}

func (p *paperMachines) Machines(_ context.Context, gone bool) ([]shard.Machine, error) {
	return p.all(gone), p.fails()
}

func (p *paperMachines) Machine(_ context.Context, id string) (*shard.Detail, error) {
	for _, m := range p.all(true) {
		if m.ID == id {
			return &shard.Detail{
				Machine: m, Current: m.ID != silentID, Vars: map[string]string{"role": "web"},
				Events: []shard.Event{
					{At: m.CreatedAt, Kind: "created", Text: "its record was written", Times: 1},
					{At: m.CreatedAt.Add(time.Minute), Kind: "lost", Text: "missed \x1b]0;x heartbeats", Times: 3},
				},
			}, nil
		}
	}
	return nil, instances.ErrInstanceNotFound
}

func (p *paperMachines) Find(_ context.Context, text string) (string, error) {
	var found []string
	for _, m := range p.all(true) {
		if strings.HasPrefix(m.ID, text) {
			found = append(found, m.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], p.fails()
	case 0:
		return "", fmt.Errorf("%w: none begins with %q", instances.ErrInstanceNotFound, text)
	}
	return "", fmt.Errorf("%w: %s", shard.ErrSeveral, strings.Join(found, ", "))
}

func (p *paperMachines) Create(_ context.Context, req shard.CreateRequest) (tenant, id string, err error) {
	switch {
	case req.Group == "both" && req.Tenant == "":
		return "", "", fmt.Errorf("%w: acme, beta", shard.ErrAmbiguous)
	case req.Group != "web":
		return "", "", fmt.Errorf("%w: %q", config.ErrGroupNotFound, req.Group)
	case req.Vars["role"] == "":
		return "", "", fmt.Errorf("%w: variable role", instances.ErrMissing)
	}
	return "acme", batchID, nil
}

func (p *paperMachines) Delete(_ context.Context, _ string, _ bool, by string) error {
	if by == "" {
		return errors.New("nobody asks")
	}
	return nil
}

func (p *paperMachines) Rotate(_ context.Context, id, _ string) error {
	if id == batchID {
		return fmt.Errorf("%w: %s was made on demand, and nothing replaces it", instances.ErrInvalidRequest, id)
	}
	return nil
}

func (p *paperMachines) RotateGroup(_ context.Context, _, group, _ string) ([]string, error) {
	if group != "web" {
		return nil, fmt.Errorf("%w: %q", config.ErrGroupNotFound, group)
	}
	return []string{readyID, silentID}, nil
}
