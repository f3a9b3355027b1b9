package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// supervisor keeps a data plane running. It starts one in a session of its
// own when none answers, and leaves it running when the control plane ends:
// traffic must not depend on us.
type supervisor struct {
	cfg    *Config
	hello  func(ctx context.Context) (table.Hello, error)
	logger *slog.Logger

	mu      sync.Mutex
	current table.Hello
	trouble string
}

const (
	helloTimeout   = 2 * time.Second
	startTimeout   = 10 * time.Second
	superviseEvery = 500 * time.Millisecond
	superviseMax   = 5 * time.Second
	troubleBytes   = 600
)

// run supervises until ctx is done.
func (s *supervisor) run(ctx context.Context, lost <-chan struct{}) {
	wait := superviseEvery
	upgrade := true // tried once
	plane := NewPresence(func(ctx context.Context, err error) {
		s.logger.ErrorContext(ctx, "the data plane does not serve; apps are not reached until it does", "control", s.cfg.controlSocket(), "error", err)
	}, func(ctx context.Context) { s.logger.InfoContext(ctx, "the data plane serves") })
	for ctx.Err() == nil {
		h, err := s.ask(ctx)
		if err == nil {
			s.note(h, "")
			plane.There(ctx)
			if upgrade && !s.cfg.ExternalIngress {
				upgrade = false
				if s.outdated(ctx, h) {
					continue
				}
			}
			wait = superviseEvery
			select { // woken when its report stream breaks
			case <-ctx.Done():
			case <-lost:
			}
			continue
		}
		if errors.Is(err, table.ErrProtocol) {
			s.note(table.Hello{}, err.Error())
			plane.Gone(ctx, err)
		} else if s.cfg.ExternalIngress {
			err = fmt.Errorf("%w; it is not ours to start (--external-ingress): start its unit, or berth-node ingress with this control socket", err)
			s.note(table.Hello{}, err.Error())
			plane.Gone(ctx, err)
		} else if err := s.start(ctx, ""); err != nil && ctx.Err() == nil {
			s.note(table.Hello{}, err.Error())
			plane.Gone(ctx, fmt.Errorf("it did not start, and is started again and again: %w", err))
		} else {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, superviseMax)
		}
	}
}

// outdated starts the installed build in place of a running one of another
// build, which hands its sockets over and drains. It reports whether it did;
// the running one goes on if the new one does not come up.
func (s *supervisor) outdated(ctx context.Context, h table.Hello) bool {
	installed, err := s.installed(ctx)
	if err != nil || installed == h.Build {
		if err != nil {
			s.logger.WarnContext(ctx, "the installed data plane's build is not known", "error", err)
		}
		return false
	}
	s.logger.InfoContext(ctx, "the data plane is replaced", "running", h.Build, "installed", installed)
	if err := s.start(ctx, "--take-over"); err != nil {
		s.logger.ErrorContext(ctx, "the data plane stays as it is", "build", h.Build, "error", err)
		return false
	}
	return true
}

// installed is the build of the data plane's program on disk.
func (s *supervisor) installed(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.cfg.NodeBinary, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w", s.cfg.NodeBinary, err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "berth-node ")), nil
}

func (s *supervisor) ask(ctx context.Context) (table.Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	return s.hello(ctx)
}

// start begins a data plane and waits until it answers; how is a further
// flag, or "".
func (s *supervisor) start(ctx context.Context, how string) error {
	if err := os.MkdirAll(s.cfg.ingressDir(), 0o700); err != nil {
		return err
	}
	logPath := filepath.Join(s.cfg.ingressDir(), "ingress.log")
	out, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	// Not bound to ctx: it outlives us.
	args := []string{"ingress", "--dir", s.cfg.ingressDir(), "--control", s.cfg.controlSocket(), "--http", strings.Join(s.cfg.IngressHTTP, ",")}
	if how != "" {
		args = append(args, how)
	}
	cmd := exec.Command(s.cfg.NodeBinary, args...) //nolint:noctx,forbidigo // it outlives the control plane, no context ends it
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	begin, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.cfg.NodeBinary, err)
	}
	s.logger.InfoContext(ctx, "data plane started", "pid", cmd.Process.Pid, "http", s.cfg.IngressHTTP)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // reaps it whenever it ends
	return s.await(ctx, cmd.Process.Pid, ended, logPath, begin)
}

func (s *supervisor) await(ctx context.Context, pid int, ended <-chan error, logPath string, begin int64) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if h, err := s.ask(ctx); err == nil && h.PID == pid {
			return nil
		}
		select {
		case err := <-ended:
			said := since(logPath, begin)
			return fmt.Errorf("berth-node ingress ended at once (%w): %s%s", errOr(err, "exit status 0"), said, s.addressAdvice(said))
		case <-ctx.Done():
			return fmt.Errorf("berth-node ingress did not answer within %s; see %s", startTimeout, logPath)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// addressAdvice is what to do where the data plane could not have its addresses.
func (s *supervisor) addressAdvice(said string) string {
	if !strings.Contains(said, unix.EADDRINUSE.Error()) {
		return ""
	}
	return fmt.Sprintf("; another process has an address of --ingress-http %s (ss -ltnp shows it): end that one, or give --ingress-http another", strings.Join(s.cfg.IngressHTTP, ","))
}

func errOr(err error, text string) error {
	if err == nil {
		return errors.New(text)
	}
	return err
}

// since is what was written to a log from an offset on, its end if it is long.
func since(path string, offset int64) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(f, offset, 1<<20))
	if err != nil {
		return err.Error()
	}
	if len(text) > troubleBytes {
		text = text[len(text)-troubleBytes:]
	}
	return strings.TrimSpace(string(text))
}

func (s *supervisor) note(h table.Hello, trouble string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.trouble = h, trouble
}

// state is the running data plane, or what is wrong with it.
func (s *supervisor) state() (table.Hello, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.trouble
}
