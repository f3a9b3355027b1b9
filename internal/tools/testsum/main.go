// Command testsum runs `go test` with the arguments it is given and turns what
// comes back into something to read: a line for each package, the output of
// what failed, then what was left out with its reasons, and a closing line
//
//	N passed, N failed, N skipped
//
// It ends with go test's own exit code. The Makefile calls it. It must never
// decide which tests run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
	}
	os.Exit(code)
}

// run starts go test and reports on it until it ends. The code is go test's.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("starting go test: %w", err)
	}
	r := newReport(stdout)
	readErr := r.read(out)
	err = cmd.Wait()
	if err != nil && r.failed == 0 {
		r.failed++ // go test itself could not do what it was asked
	}
	r.close()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode(), readErr
	case err != nil:
		return 1, err
	case readErr != nil || r.failed > 0:
		return 1, readErr
	}
	return 0, nil
}
