package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	moby "github.com/moby/moby/client"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/docker"
)

// plane is one control plane, with a data plane, a file of machines and an app of its own.
type plane struct {
	s        *stand
	name     string
	dir      string
	addr     string // where its data plane serves
	instance string // known once it has answered
	client   *client.Client
	server   *server
	file     machinesFile
	open     infra.OpenFunc
	seen     seen
}

// begin starts a control plane of machines of this kind.
func (s *stand) begin(ctx context.Context, name, network string, kind kind) (*plane, error) {
	p := &plane{s: s, name: s.name + name, dir: filepath.Join(s.dir, name), open: kind.open, seen: seen{}}
	s.planes = append(s.planes, p)
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return p, err
	}
	p.file = machinesFile{
		path: filepath.Join(p.dir, "machines.jsonc"), cluster: p.name, kind: kind, size: kind.size, edition: 1,
	}
	for _, at := range []*string{&p.file.registrations, &p.file.agents, &p.file.ingress} {
		var err error
		if *at, err = freeAddr(ctx, s.o.address); err != nil {
			return p, err
		}
	}
	err := p.file.write()
	if err != nil {
		return p, err
	}
	if p.addr, err = freeAddr(ctx, "127.0.0.1"); err != nil {
		return p, err
	}
	log, err := os.Create(filepath.Join(p.dir, "berthd.log"))
	if err != nil {
		return p, err
	}
	p.client = client.New(p.socket())
	p.server = &server{binary: s.program("berthd"), log: log, client: p.client, args: []string{
		"server", "--data-dir", filepath.Join(p.dir, "data"), "--socket", p.socket(), "--docker", s.o.docker,
		"--ingress-http", p.addr, "--network-prefix", "e2emachines-" + p.name, "--network-pool", network,
		"--node-binary", s.program("berth-node"), "--machines", p.file.path,
	}}
	if err := p.server.begin(ctx); err != nil {
		return p, err
	}
	status, err := p.client.Status(ctx)
	p.instance = status.Instance
	return p, err
}

func (p *plane) socket() string { return filepath.Join(p.dir, "api.sock") }

// berth runs the command line. It is run again while the daemon is away.
func (p *plane) berth(ctx context.Context, input string, args ...string) ([]byte, error) {
	const unreachable = 5
	for {
		cmd := exec.CommandContext(ctx, p.s.program("berth"), append([]string{"--socket", p.socket()}, args...)...)
		var out, said bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewBufferString(input), &out, &said
		err := cmd.Run()
		if err == nil {
			return out.Bytes(), nil
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != unreachable || !pause(ctx, tryAgain) {
			return nil, fmt.Errorf("berth %s: %w: %s%s", args[0], err, out.Bytes(), said.Bytes())
		}
	}
}

// provider is what made the machines, for what the control plane would not do.
func (p *plane) provider(ctx context.Context) (infra.Provider, error) {
	return p.open(ctx, infra.Options{Owner: p.file.owner(), Settings: p.file.kind.settings})
}

// close ends the control plane and removes what is left of its machines and its app.
func (p *plane) close(ctx context.Context) error {
	var errs []error
	if p.server != nil {
		p.server.end()
		p.client.Close()
	}
	if _, err := os.Stat(p.file.path); err == nil {
		errs = append(errs, p.clearMachines(ctx))
	}
	if p.instance != "" {
		errs = append(errs, p.clearEngine(ctx))
	}
	return errors.Join(errs...)
}

func (p *plane) clearMachines(ctx context.Context) error {
	made, err := p.provider(ctx)
	if err != nil {
		return err
	}
	for {
		all, err := infra.ListAll(ctx, made, p.file.owner())
		if err != nil || len(all) == 0 {
			return err
		}
		for i := range all {
			err = errors.Join(err, made.DeleteInstance(ctx, all[i].InstanceID, ""))
		}
		if !pause(ctx, time.Second) {
			return errors.Join(err, fmt.Errorf("%d machines are left", len(all)))
		}
	}
}

func (p *plane) ours() moby.Filters {
	return make(moby.Filters).Add("label", docker.LabelInstance+"="+p.instance)
}

func (p *plane) clearEngine(ctx context.Context) error {
	list, err := p.s.engine.ContainerList(ctx, moby.ContainerListOptions{All: true, Filters: p.ours()})
	for i := range list.Items {
		_, err2 := p.s.engine.ContainerRemove(ctx, list.Items[i].ID, moby.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		err = errors.Join(err, err2)
	}
	networks, err2 := p.s.engine.NetworkList(ctx, moby.NetworkListOptions{Filters: p.ours()})
	err = errors.Join(err, err2)
	for i := range networks.Items {
		_, err2 := p.s.engine.NetworkRemove(ctx, networks.Items[i].ID, moby.NetworkRemoveOptions{})
		err = errors.Join(err, err2)
	}
	return err
}

func (p *plane) showLogs() {
	for _, name := range []string{"berthd.log", "data/ingress/ingress.log"} {
		content, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			p.s.o.say("no log: %v", err)
			continue
		}
		p.s.o.say("the end of %s's %s:\n%s", p.name, name, content[max(0, len(content)-tail):])
	}
}
