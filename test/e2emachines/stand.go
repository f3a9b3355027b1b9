package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	moby "github.com/moby/moby/client"

	"github.com/berth-cloud/berth/test/images/image"
)

const (
	module       = "github.com/berth-cloud/berth"
	buildTimeout = 10 * time.Minute // a first compilation on a small machine
	cleanup      = 2 * time.Minute
	tail         = 8 << 10 // of a log, when it is shown
)

// versions of the app's image.
var versions = [2]string{"v1", "v2"}

// stand is what all of a run shares: programs, images, and an address of this host that
// machines can reach.
type stand struct {
	o          options
	dir        string // all files
	name       string
	repository string // of the images
	engine     *moby.Client
	addressed  bool // the host has the address, and by us
	planes     []*plane
}

// erect builds everything. The stand is to be torn down even when an error comes with it.
func erect(ctx context.Context, o options) (*stand, error) {
	dir, err := os.MkdirTemp("", "berth-e2emachines-")
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("em%06x", os.Getpid()&0xffffff)
	s := &stand{o: o, dir: dir, name: name, repository: "berth-e2emachines/" + name}
	if s.engine, err = image.Connect(o.docker); err != nil {
		return s, err
	}
	if err := s.build(ctx); err != nil {
		return s, err
	}
	if err := ip(ctx, "add", o.address); err != nil {
		return s, err
	}
	s.addressed = true
	return s, nil
}

// build makes the programs and the images.
func (s *stand) build(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	args := []string{"build", "-o", s.dir + "/"}
	for _, program := range []string{"berth", "berthd", "berth-node"} {
		args = append(args, module+"/cmd/"+program)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binaries: %w\n%s", err, out)
	}
	web, err := image.Compile(ctx, module+"/test/images/web")
	if err != nil {
		return err
	}
	for _, version := range versions {
		img, err := image.Assemble(web, image.Config{Env: map[string]string{"VERSION": version}, Labels: map[string]string{"made.for": s.name}})
		if err != nil {
			return err
		}
		if _, err := image.Load(ctx, s.engine, s.repository+":"+version, img); err != nil {
			return err
		}
	}
	return nil
}

func (s *stand) program(name string) string { return filepath.Join(s.dir, name) }

// ip gives the loopback device an address, or takes it.
func ip(ctx context.Context, verb, address string) error {
	out, err := exec.CommandContext(ctx, "ip", "address", verb, address+"/32", "dev", "lo").CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip address %s %s: %w: %s", verb, address, err, out)
	}
	return nil
}

// freeAddr is a port of an address of this host that nobody has at the moment.
func freeAddr(ctx context.Context, host string) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// tearDown removes all that the stand made. With show, the ends of the logs are printed
// first.
func (s *stand) tearDown(ctx context.Context, show bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	var errs []error
	for _, p := range s.planes {
		if show {
			p.showLogs()
		}
		errs = append(errs, p.close(ctx))
	}
	errs = append(errs, s.endProcesses())
	if s.engine != nil {
		for _, version := range versions {
			_, err := s.engine.ImageRemove(ctx, s.repository+":"+version, moby.ImageRemoveOptions{Force: true})
			if err != nil && !errdefs.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
		errs = append(errs, s.engine.Close())
	}
	if s.addressed {
		errs = append(errs, ip(ctx, "del", s.o.address))
	}
	errs = append(errs, os.RemoveAll(s.dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

// endProcesses kills what still runs one of the stand's own programs: data planes, which
// are in sessions of their own, and machines, if any are left.
func (s *stand) endProcesses() error {
	var errs []error
	for _, pid := range s.running("") {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// running are the processes that run a program of the stand's, but for those whose first
// argument is the one given.
func (s *stand) running(but string) (pids []int) {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return nil // the pattern is a good one
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(target, s.dir+"/") {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		if args := strings.Split(string(line), "\x00"); but != "" && len(args) > 1 && args[1] == but {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
