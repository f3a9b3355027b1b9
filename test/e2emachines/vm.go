package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/qemu"
	"github.com/berth-cloud/berth/test/images/image"
	"github.com/berth-cloud/berth/test/vm/guest"
)

// guestTime bounds the making of the guest. When none is there yet, that is a Debian.
const guestTime = 8 * time.Minute

// virtual has a second control plane boot a virtual machine, on which an app then runs.
func (x *runner) virtual(ctx context.Context) error {
	k, err := x.emulated(ctx)
	if err != nil {
		return fmt.Errorf("a virtual machine: %w", err)
	}
	p, err := x.begin(ctx, "vm", x.o.network, k)
	if err != nil {
		return err
	}
	defer func() {
		x.made.created, x.made.registered = x.made.created+len(p.seen), x.made.registered+p.seen.registered()
	}()
	began := time.Now()
	a := app{version: versions[0], replicas: 1}
	if err := x.up(ctx, p, a); err != nil {
		return fmt.Errorf("a virtual machine: %w", err)
	}
	if err := p.asks(ctx, a.version); err != nil {
		return fmt.Errorf("a container on a virtual machine: %w", err)
	}
	x.o.say("a virtual machine has booted, registered and runs a container that answers, %v after it was asked for", time.Since(began).Round(time.Second))
	return x.remove(ctx, p)
}

// emulated are virtual machines without KVM. They reach the host by what QEMU does in
// user mode, which takes the address of the run too.
func (x *runner) emulated(ctx context.Context) (kind, error) {
	bounded, cancel := context.WithTimeout(ctx, guestTime)
	defer cancel()
	unit, err := os.ReadFile(filepath.Join(checkout(ctx), "packaging/systemd/berth-agent.service"))
	if err != nil {
		return kind{}, err
	}
	agent, err := image.Compile(bounded, module+"/cmd/berth-node")
	if err != nil {
		return kind{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return kind{}, err
	}
	g, err := guest.Build(bounded, guest.Options{
		Cache: filepath.Join(cache, "berth", "vm"), Agent: agent, Unit: unit,
		Say: func(what string) { x.o.say("%s", what) }, Now: time.Now(),
	})
	if err != nil {
		return kind{}, err
	}
	return kind{
		name: qemu.Kind, size: 1,
		open: func(ctx context.Context, o infra.Options) (infra.Provider, error) { return qemu.Open(ctx, o) },
		settings: map[string]any{
			"dir": filepath.Join(x.dir, "virtual"), "accelerator": qemu.TCG, "stop_grace": "60s",
			"images": map[string]qemu.Image{qemu.DefaultName: {Disk: g.Disk, Format: "raw", Kernel: g.Kernel, Initrd: g.Initrd, Append: g.Append}},
			"types":  map[string]qemu.Type{qemu.DefaultName: {CPUs: 2, MemoryMiB: 1024}},
		},
		within:  8 * time.Minute, // on a machine that does other things too
		gc:      map[string]string{"registration_timeout": "8m"},
		leaves:  []string{"record", "node", "folder", "process", "network"},
		timings: map[string]string{"health_check_interval": "10s", "default_drain_timeout": "2m", "retry_min": "1s"},
		runcmd:  "runcmd:\n- [systemctl, enable, --now, --no-block, berth-agent.service]\n",
	}, nil
}

// checkout is the folder of the sources, "" when it is not known.
func checkout(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil || len(out) == 0 {
		return ""
	}
	return string(out[:len(out)-1])
}

// asks has the app answer a request.
func (p *plane) asks(ctx context.Context, version string) error {
	web := &http.Client{Timeout: 10 * time.Second}
	defer web.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/", nil)
	if err != nil {
		return err
	}
	req.Host = p.host()
	res, err := web.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if got := res.Header.Get("X-Version"); res.StatusCode != http.StatusOK || got != version {
		return fmt.Errorf("GET / was answered %s by version %q", res.Status, got)
	}
	return nil
}
