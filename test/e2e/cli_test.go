package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/wire"
)

const commandTimeout = 60 * time.Second

// output is what a run of the command line gave.
type output struct {
	code int
	text string // both streams, as a terminal shows them
}

// run calls berth with its standard input.
func (b *berth) run(stdin string, args ...string) output {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, "berth"), args...)
	cmd.Env = []string{"BERTH_SOCKET=" + b.socket()}
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		b.t.Fatalf("berth %s: %v\n%s", strings.Join(args, " "), err, &out)
	}
	return output{cmd.ProcessState.ExitCode(), out.String()}
}

// apply applies an app file and expects an exit code.
func (b *berth) apply(code int, file string, flags ...string) output {
	b.t.Helper()
	return b.want(code, file, append([]string{"apply", "-f", "-"}, flags...)...)
}

func (b *berth) want(code int, stdin string, args ...string) output {
	b.t.Helper()
	out := b.run(stdin, args...)
	if out.code != code {
		b.t.Fatalf("berth %s ended with %d, want %d:\n%s\n%s", strings.Join(args, " "), out.code, code, stdin, out.text)
	}
	return out
}

// has fails the test unless the output holds every text.
func (b *berth) has(out output, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if !strings.Contains(out.text, text) {
			b.t.Errorf("no %q in:\n%s", text, out.text)
		}
	}
}

func (b *berth) status(app string) wire.AppStatus {
	b.t.Helper()
	out := b.want(0, "", "status", app, "-o", "json")
	var s wire.AppStatus
	if err := json.Unmarshal([]byte(out.text), &s); err != nil {
		b.t.Fatalf("%v in:\n%s", err, out.text)
	}
	return s
}
