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
	for ctx.Err() == nil {
		h, err := s.ask(ctx)
		if err == nil {
			s.note(h, "")
			wait = superviseEvery
			select { // woken when its report stream breaks
			case <-ctx.Done():
			case <-lost:
			}
			continue
		}
		if errors.Is(err, table.ErrProtocol) {
			s.note(table.Hello{}, err.Error())
			s.logger.ErrorContext(ctx, "the running data plane cannot be used", "error", err)
		} else if err := s.start(ctx); err != nil && ctx.Err() == nil {
			s.note(table.Hello{}, err.Error())
			s.logger.ErrorContext(ctx, "the data plane did not start", "error", err, "again_in", wait)
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

func (s *supervisor) ask(ctx context.Context) (table.Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	return s.hello(ctx)
}

// start begins a data plane and waits until it answers.
func (s *supervisor) start(ctx context.Context) error {
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
	cmd := exec.Command(s.cfg.NodeBinary, "ingress", "--dir", s.cfg.ingressDir(), //nolint:noctx,forbidigo // it outlives the control plane, no context ends it
		"--control", s.cfg.controlSocket(), "--http", strings.Join(s.cfg.IngressHTTP, ","))
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
	return s.await(ctx, ended, logPath, begin)
}

func (s *supervisor) await(ctx context.Context, ended <-chan error, logPath string, begin int64) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if _, err := s.ask(ctx); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("berth-node ingress ended at once (%w): %s", errOr(err, "exit status 0"), since(logPath, begin))
		case <-ctx.Done():
			return fmt.Errorf("berth-node ingress did not answer within %s; see %s", startTimeout, logPath)
		case <-time.After(20 * time.Millisecond):
		}
	}
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
