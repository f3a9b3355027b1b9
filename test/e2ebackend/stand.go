package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	moby "github.com/moby/moby/client"

	"github.com/berth-cloud/berth/test/images/image"
	"github.com/berth-cloud/berth/test/leaseholder"
)

const (
	module       = "github.com/berth-cloud/berth"
	buildTimeout = 5 * time.Minute
	clearTimeout = time.Minute
)

// versions are the images: two that serve, and one that ends at once.
var versions = map[string]map[string]string{
	"v1": {"VERSION": "v1"}, "v2": {"VERSION": "v2"}, "broken": {"VERSION": "broken", "MODE": "exit"},
}

// stand is a backend of its own, and what is needed to look at it.
type stand struct {
	o          options
	dir        string // settings, data, secrets, log
	name, addr string // the backend's
	repository string // of its images
	binary     string // berthd
	engine     *moby.Client
	daemon     *process
	plane      *process // the data plane, which is never killed
	web        string   // its address
	unfenced   bool     // the firewall was taken away
	holder     *leaseholder.Holder
}

func (s *stand) config() string { return filepath.Join(s.dir, "backend.yaml") }

func (s *stand) data() string { return filepath.Join(s.dir, "data") }

func (s *stand) image(version string) string { return s.repository + ":" + version }

// erect builds everything and starts the backend. The stand is to be torn down even
// when an error comes with it.
func erect(ctx context.Context, o options) (*stand, error) {
	dir, err := os.MkdirTemp("", "berth-e2ebackend-")
	if err != nil {
		return nil, err
	}
	name := strings.ToLower(rand.Text()[:8])
	s := &stand{o: o, dir: dir, name: "e2e-" + name, repository: "berth-test/e2ebackend-" + name}
	if s.engine, err = image.Connect(o.docker); err != nil {
		return s, err
	}
	if err := s.images(ctx); err != nil {
		return s, err
	}
	s.binary = o.berthd
	if s.binary == "" {
		if s.binary, err = s.build(ctx, "berthd"); err != nil {
			return s, err
		}
	}
	if err := s.dataPlane(ctx); err != nil {
		return s, err
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return s, err
	}
	requests, callbacks := rand.Text()+rand.Text(), rand.Text()+rand.Text()
	if err := s.settings(addr, requests, callbacks); err != nil {
		return s, err
	}
	s.holder, err = leaseholder.Start(ctx, leaseholder.Config{BackendURL: "http://" + addr, Secret: requests, Callback: callbacks, Deliver: o.deliver})
	if err != nil {
		return s, err
	}
	s.daemon, err = newProcess(filepath.Join(dir, "berthd.log"), s.binary,
		"backend", "--config", s.config(), "--data-dir", s.data(), "--log-level", "info")
	if err != nil {
		return s, err
	}
	if err := s.daemon.begin(ctx); err != nil {
		return s, err
	}
	return s, s.healthy(ctx)
}

func (s *stand) images(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	binary, err := image.Compile(ctx, module+"/test/images/web")
	if err != nil {
		return err
	}
	for version, env := range versions {
		img, err := image.Assemble(binary, image.Config{Env: env, Volumes: []string{dataDir}})
		if err != nil {
			return err
		}
		if _, err := image.Load(ctx, s.engine, s.image(version), img); err != nil {
			return err
		}
	}
	return nil
}

// dataPlane starts what sends requests to leases, and does not wait until it answers.
func (s *stand) dataPlane(ctx context.Context) error {
	binary := s.o.node
	var err error
	if binary == "" {
		if binary, err = s.build(ctx, "berth-node"); err != nil {
			return err
		}
	}
	if s.web, err = freeAddr(ctx); err != nil {
		return err
	}
	s.plane, err = newProcess(filepath.Join(s.dir, "ingress.log"), binary,
		"ingress", "--dir", filepath.Join(s.dir, "ingress"), "--control", s.control(), "--http", s.web)
	if err != nil {
		return err
	}
	return s.plane.begin(ctx)
}

func (s *stand) control() string { return filepath.Join(s.dir, "ingress.sock") }

func (s *stand) build(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	binary := filepath.Join(s.dir, program)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, module+"/cmd/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return binary, nil
}

const settingsForm = `name: %[1]s
listen: %[2]s
secret_file: requests.secret
callback_secret_file: callbacks.secret
docker: %[3]s
network_prefix: %[1]s
network_pool: %[4]s
bind_address: 127.0.0.1
sku_profiles:
  micro: {cpu_cores: 0.5, memory_mb: 64}
  small: {cpu_cores: 0.5, memory_mb: 64, disk_mb: 16}
  smaller: {cpu_cores: 0.5, memory_mb: 64, disk_mb: 4}
sku_mapping:
  %[5]s: micro
  %[7]s: small
  %[10]s: smaller
disk_enforcement: none
total_cpu_cores: 100
total_memory_mb: 100000
total_disk_mb: 100000
retain_on_close: true
retention: {grace: %[8]s}
allowed_registries: [docker.io]
egress: {allow_loopback: true}
ingress: {wildcard_domain: leases.test, control: %[6]s, dns_gate: {disabled: true}}
timing: {provision: 90s, replace: 90s, rollback: 60s, watchdog: %[9]ds}
`

// How long the backend keeps the volumes of leases that were given up: longer than a run
// takes, and at its end no time.
const (
	keepLong = "24h"
	keepNot  = "1s"
)

func (s *stand) settings(addr, requests, callbacks string) error {
	s.addr = addr
	return errors.Join(
		os.WriteFile(filepath.Join(s.dir, "requests.secret"), []byte(requests+"\n"), 0o600),
		os.WriteFile(filepath.Join(s.dir, "callbacks.secret"), []byte(callbacks+"\n"), 0o600),
		s.retain(keepLong),
	)
}

// retain writes the settings with that grace.
func (s *stand) retain(grace string) error {
	text := fmt.Appendf(nil, settingsForm, s.name, s.addr, s.o.docker, s.o.pool, tier, s.control(), diskTier, grace, int(s.o.watchdog.Seconds()), smallTier)
	return os.WriteFile(s.config(), text, 0o600)
}

// freeAddr is an address that was free a moment ago. The backend is to have the same
// after each kill, so that it cannot choose.
func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// healthy waits until the backend says that it can do its work.
func (s *stand) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	for {
		err := s.holder.Health(ctx)
		if err == nil {
			return nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("the backend does not answer: %w\n%s", err, s.daemon.tail())
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
