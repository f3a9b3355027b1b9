package config_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/berth-cloud/berth/instances/config"
)

// A loader keeps the last good configuration.
func Example() {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "config.jsonc")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	write(`{
  "cluster": {"id": "prod"},
  "shard": {
    "name": "one",
    "provider": {"kind": "netns"},
    "server": {"registration_addr": "10.0.0.5:8992", "agent_addr": "10.0.0.5:8994"},
  },
  "templates": {"small": {"kind": "wrk", "arch": "amd64", "args": {"disk": {"gb": 10}}}},
  "groups": {"acme": {"web": {"template": "small", "size": 3}}}, // three machines
}`)
	loader, err := config.NewLoader(config.LoaderOptions{Source: config.NewFile(path)})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	fmt.Println("first:", loader.Refresh(ctx))

	write(`{"cluster": {"id": "prod"}`)
	err = loader.Refresh(ctx)
	fmt.Println("then invalid:", errors.Is(err, config.ErrInvalid))

	machine, err := loader.Merge(config.MergeRequest{
		Tenant: "acme", Group: "web", Args: map[string]any{"disk": map[string]any{"kind": "ssd"}},
	})
	fmt.Println(machine.Size, machine.Args, machine.DrainTimeout, err)
	_, err = loader.Group(config.GroupKey{Tenant: "acme", Group: "db"})
	fmt.Println("surely absent:", errors.Is(err, config.ErrGroupNotFound))
	// Output:
	// first: <nil>
	// then invalid: true
	// 3 map[disk:map[gb:10 kind:ssd]] 5m0s <nil>
	// surely absent: false
}
