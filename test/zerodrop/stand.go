package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	moby "github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/test/images/image"
)

const (
	module       = "github.com/berth-cloud/berth"
	buildTimeout = 10 * time.Minute // a first compilation on a small machine
	// tail is how much of a log is shown when something went wrong.
	tail = 8 << 10
)

// stand is a whole Berth of its own, and what is needed to look at it.
type stand struct {
	o          options
	dir        string // binaries, data, sockets, logs
	app        string
	repository string // of its images
	addr       string // where the data plane serves
	instance   string // known once the control plane has answered
	engine     *moby.Client
	client     *client.Client
	server     *server
}

func (s *stand) host() string { return s.app + ".localhost" }

// erect builds everything and starts the control plane. The stand is to be torn
// down even when an error comes with it.
func erect(ctx context.Context, o options) (*stand, error) {
	dir, err := os.MkdirTemp("", "berth-zerodrop-")
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("zd%06x", os.Getpid()&0xffffff)
	s := &stand{o: o, dir: dir, app: name, repository: "berth-zerodrop/" + name}
	if s.engine, err = image.Connect(o.docker); err != nil {
		return s, err
	}
	if err := s.build(ctx); err != nil {
		return s, err
	}
	if s.addr, err = freeAddr(); err != nil {
		return s, err
	}
	log, err := os.Create(filepath.Join(dir, "berthd.log"))
	if err != nil {
		return s, err
	}
	socket := filepath.Join(dir, "api.sock")
	s.client = client.New(socket)
	s.server = &server{binary: filepath.Join(dir, "berthd"), log: log, client: s.client, args: []string{
		"server", "--data-dir", filepath.Join(dir, "data"), "--socket", socket, "--docker", o.docker,
		"--ingress-http", s.addr, "--network-prefix", "zerodrop-" + name, "--network-pool", o.pool,
		"--node-binary", filepath.Join(dir, "berth-node"),
	}}
	if err := s.server.begin(ctx); err != nil {
		return s, err
	}
	if err := s.server.answers(ctx); err != nil {
		return s, err
	}
	status, err := s.client.Status(ctx)
	s.instance = status.Instance
	return s, err
}

// build makes the two programs and the images.
func (s *stand) build(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", s.dir+"/", module+"/cmd/berthd", module+"/cmd/berth-node")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binaries: %w\n%s", err, out)
	}
	web, err := image.Compile(ctx, module+"/test/images/web")
	if err != nil {
		return err
	}
	for _, version := range imageVersions {
		img, err := image.Assemble(web, image.Config{Env: map[string]string{"VERSION": version}, Labels: map[string]string{"made.for": s.app}})
		if err != nil {
			return err
		}
		if _, err := image.Load(ctx, s.engine, s.repository+":"+version, img); err != nil {
			return err
		}
	}
	return nil
}

// freeAddr is a port of the loopback that nobody has at the moment.
func freeAddr() (string, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// tearDown removes all that the stand made. With show, the ends of the logs are
// printed first.
func (s *stand) tearDown(show bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var errs []error
	if show {
		s.showLog("berthd.log")
		s.showLog("data/ingress/ingress.log")
	}
	if s.server != nil {
		s.server.end()
		s.client.Close()
	}
	errs = append(errs, s.endProcesses())
	if s.engine != nil {
		errs = append(errs, s.clearEngine(ctx))
		errs = append(errs, s.engine.Close())
	}
	errs = append(errs, os.RemoveAll(s.dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

func (s *stand) showLog(name string) {
	content, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.o.say("no log: %v", err)
		return
	}
	s.o.say("the end of %s:\n%s", name, content[max(0, len(content)-tail):])
}

// endProcesses kills what still runs one of the stand's own binaries: the data
// plane, which is in a session of its own.
func (s *stand) endProcesses() error {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return err
	}
	var errs []error
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(target, s.dir+"/") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(link, "/proc/%d/exe", &pid); err != nil {
			continue
		}
		if p, err := os.FindProcess(pid); err == nil {
			errs = append(errs, p.Kill())
		}
	}
	return errors.Join(errs...)
}
