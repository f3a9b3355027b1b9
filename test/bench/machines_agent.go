package main

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
)

// control is a hub on loopback, and a process that is the agent of one machine.
type control struct {
	*machines
	hub      *hub.Hub
	instance string
	process  *exec.Cmd
	closers  []func() error
}

// startControl waits until the agent is connected. The caller stops what is returned,
// also after an error.
func startControl(ctx context.Context, o options) (_ *control, err error) {
	c := &control{}
	if c.machines, err = newMachines(ctx); err != nil {
		return c, err
	}
	own, err := c.serverCertificate()
	if err != nil {
		return c, err
	}
	if c.hub, err = hub.New(hub.Options{Certificate: own, Roots: c.authority.Pool}); err != nil {
		return c, err
	}
	l, err := loopback(ctx)
	if err != nil {
		return c, err
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- c.hub.Serve(serving, l) }()
	c.closers = append(c.closers, func() error { cancel(); return <-ended })
	c.instance = (&id.Generator{Now: time.Now}).New("wrk").String()
	if err := c.folder(l.Addr().String()); err != nil {
		return c, err
	}
	if err := c.startAgent(ctx, o); err != nil {
		return c, err
	}
	began := time.Now()
	for !c.hub.Online(c.instance) {
		if time.Since(began) > startTime || !pause(ctx, 20*time.Millisecond) {
			text, _ := os.ReadFile(filepath.Join(c.dir, "agent.log"))
			return c, fmt.Errorf("the agent does not connect: %s", text)
		}
	}
	return c, nil
}

// folder is the machine's, as it is after a registration.
func (c *control) folder(addr string) error {
	cert, err := c.certificate(ca.Request{Role: wire.RoleAgent, Name: c.instance, Tenant: "acme"})
	if err != nil {
		return err
	}
	key, ok := cert.PrivateKey.(ed25519.PrivateKey)
	if !ok {
		return errors.New("the key of a machine is Ed25519")
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	boot, err := json.Marshal(agent.Bootstrap{ClusterID: "bench", Shard: "one", InstanceID: c.instance, RegistrationAddr: addr, AgentAddr: addr})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"bootstrap.json": boot, "ca.crt": c.authority.CAPEM(),
		"identity.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		"identity.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}),
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *control) startAgent(ctx context.Context, o options) error {
	log, err := os.Create(filepath.Join(c.dir, "agent.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c.process = exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(o.bin, "berth-node"), "agent", "--dir", c.dir, "--docker", o.docker)
	c.process.Stdout, c.process.Stderr = log, log
	c.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is ours to handle
	if err := c.process.Start(); err != nil {
		return fmt.Errorf("%w; run make build first", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.process.Wait() }()
	c.closers = append(c.closers, func() error {
		_ = c.process.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(stopTime, func() { _ = c.process.Process.Kill() })
		defer late.Stop()
		if err := <-ended; err != nil {
			return fmt.Errorf("the agent ended: %w", err)
		}
		return nil
	})
	return nil
}

func (c *control) stop() error {
	var errs []error
	for i := len(c.closers) - 1; i >= 0; i-- {
		errs = append(errs, c.closers[i]())
	}
	if c.machines != nil {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// measureAgent reads the memory of an agent that is connected and has nothing to do.
func measureAgent(ctx context.Context, o options) (_ []line, err error) {
	c, err := startControl(ctx, o)
	defer func() { err = errors.Join(err, c.stop()) }()
	if err != nil {
		return nil, err
	}
	if !pause(ctx, o.settle) {
		return nil, ctx.Err()
	}
	mb, err := rss(c.process.Process.Pid)
	if err != nil {
		return nil, err
	}
	if !c.hub.Online(c.instance) {
		return nil, errors.New("the agent is not connected any more")
	}
	return []line{{
		What: "machines, memory of an agent that is connected", Value: mb, Format: "%.1f MB",
		Detail: fmt.Sprintf("`berth-node agent`, %s after its start, one control connection with a heartbeat every %s", o.settle, wire.HeartbeatEvery),
	}}, nil
}
