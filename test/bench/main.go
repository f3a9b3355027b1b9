// Command bench measures Berth against its targets and writes docs/benchmarks.md:
// the figures, the target beside each, the machine, and the command. What notes.md
// says is appended to it as it is.
//
//	go run ./test/bench                  everything, after make build
//	go run ./test/bench -only deploy     one line; nothing is written
//
// `make bench` calls it. It starts a berthd of its own in a directory that it
// removes, and takes away every container and network it made, also when it
// fails. It must never hold a figure that it did not measure, and never be
// linked into Berth.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are what the command line says.
type options struct {
	bin, docker, pool string
	out, notes, only  string
	pairs, services   int
	settle            time.Duration
	trace             bool
}

// deadline bounds a whole run.
const deadline = 15 * time.Minute

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "`folder` of the built binaries")
	flag.StringVar(&o.docker, "docker", "unix:///var/run/docker.sock", "the engine's `address`")
	flag.StringVar(&o.pool, "network-pool", "10.219.0.0/16", "IPv4 /16 `prefix` that nothing else on the machine uses")
	flag.StringVar(&o.out, "out", "docs/benchmarks.md", "`file` to write")
	flag.StringVar(&o.notes, "notes", "test/bench/notes.md", "`file` that is appended to it")
	flag.StringVar(&o.only, "only", "", "measure one `line` (idle, deploy, pass or proxy) and write no file")
	flag.IntVar(&o.pairs, "pairs", 21, "`number` of pairs of a deploy and a raw start, 15 or more")
	flag.IntVar(&o.services, "services", 2_000, "`number` of services of the no-op pass")
	flag.DurationVar(&o.settle, "settle", 20*time.Second, "how long an idle daemon settles before its memory is read")
	flag.BoolVar(&o.trace, "trace", false, "print when each step of a deploy was recorded")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		cancel()
		stop()
		os.Exit(1) //nolint:gocritic // both were just called
	}
}

// run measures the lines and writes the report when all of them are there.
func run(ctx context.Context, o options) error {
	if o.pairs < 15 {
		return errors.New("a median of fewer than 15 pairs says little; -pairs takes 15 or more")
	}
	measures := []struct {
		name    string
		measure func(context.Context, options) ([]line, error)
	}{{"idle", measureIdle}, {"deploy", measureDeploy}, {"pass", measurePass}, {"proxy", measureProxy}}
	var lines []line
	known := false
	for _, m := range measures {
		if o.only != "" && o.only != m.name {
			continue
		}
		known = true
		begun := time.Now()
		got, err := m.measure(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for _, l := range got {
			fmt.Println(l)
		}
		fmt.Printf("(%s took %s)\n", m.name, time.Since(begun).Round(time.Second))
		lines = append(lines, got...)
	}
	switch {
	case !known:
		return fmt.Errorf("-only %q is not a line; there are idle, deploy, pass and proxy", o.only)
	case o.only != "":
		return nil
	}
	return writeReport(o, lines)
}

// pause waits and says whether it did so to the end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
