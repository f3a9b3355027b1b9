// Command bench measures Berth against its targets and writes docs/benchmarks.md:
// the figures, the target beside each, the machine, and the command. What notes.md
// says is appended to it as it is.
//
//	go run ./test/bench                  everything, after make build
//	go run ./test/bench -only deploy     one part; nothing is written
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
	"runtime/pprof"
	"strings"
	"syscall"
	"time"
)

// options are what the command line says.
type options struct {
	bin, docker, pool string
	floorPool         string
	out, notes, only  string
	pairs, services   int
	workloads         int
	settle            time.Duration
	trace             bool
	profile           string
	held, hold        int
}

// deadline bounds a whole run.
const deadline = 25 * time.Minute

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "`folder` of the built binaries")
	flag.StringVar(&o.docker, "docker", "unix:///var/run/docker.sock", "the engine's `address`")
	flag.StringVar(&o.pool, "network-pool", "10.219.0.0/16", "IPv4 /16 `prefix` that nothing else on the machine uses")
	flag.StringVar(&o.floorPool, "provider-pool", "10.218.0.0/16", "another such `prefix` for the provider floor and the plain program beside it")
	flag.StringVar(&o.out, "out", "docs/benchmarks.md", "`file` to write")
	flag.StringVar(&o.notes, "notes", "test/bench/notes.md", "`file` that is appended to it")
	flag.StringVar(&o.only, "only", "", "measure one `part` ("+names+") and write no file")
	flag.IntVar(&o.pairs, "pairs", 21, "`number` of pairs of a deploy and a raw start, 15 or more")
	flag.IntVar(&o.services, "services", 2_000, "`number` of services of the no-op pass")
	flag.IntVar(&o.workloads, "workloads", 50, "`number` of workloads that are provisioned at once, up to 100")
	flag.DurationVar(&o.settle, "settle", 20*time.Second, "how long an idle daemon settles before its memory is read")
	flag.BoolVar(&o.trace, "trace", false, "print when each step of a deploy was recorded")
	flag.StringVar(&o.profile, "cpuprofile", "", "`file` for a profile of this process, which is the provider floor's and that of the no-op pass")
	flag.IntVar(&o.held, "leases", heldLeases, "`number` of leases of the memory of a hosting")
	flag.IntVar(&o.hold, "hold", 0, "do nothing but to hold this `number` of leases and print the memory; the run starts itself so")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := profiled(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		cancel()
		stop()
		os.Exit(1) //nolint:gocritic // both were just called
	}
}

// profiled runs, and profiles when that was asked for.
func profiled(ctx context.Context, o options) (err error) {
	if o.profile == "" {
		return run(ctx, o)
	}
	f, err := os.Create(o.profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return run(ctx, o)
}

// names are the parts that can be measured alone.
const names = "idle, deploy, provider, provider-calls, provider-fleet, pass, proxy, backend, backend-calls, backend-server, backend-walk, backend-memory, machines, machines-rebuild, machines-register, machines-groups, machines-agent or machines-dial"

// run measures the lines and writes the report when all of them are there.
func run(ctx context.Context, o options) error {
	if o.hold > 0 {
		return hold(ctx, o.hold)
	}
	if o.pairs < 15 {
		return errors.New("a median of fewer than 15 pairs says little; -pairs takes 15 or more")
	}
	if o.workloads < 1 || o.workloads > 100 {
		return errors.New("-workloads takes 1 to 100: the half of the pool that each side has holds no more networks")
	}
	measures := []struct {
		name    string
		measure func(context.Context, options) ([]line, error)
	}{{"idle", measureIdle}, {"deploy", measureDeploy}, {"provider-calls", measureCalls}, {"provider-fleet", measureFleet}, {"pass", measurePass}, {"proxy", measureProxy}, {"backend-calls", measureSignedCalls}, {"backend-server", measureServer}, {"backend-walk", measureWalk}, {"backend-memory", measureMemory}, {"machines-rebuild", measureRebuild}, {"machines-register", measureRegister}, {"machines-groups", measureGroups}, {"machines-agent", measureAgent}, {"machines-dial", measureDial}}
	var lines []line
	known := false
	for _, m := range measures {
		if o.only != "" && o.only != m.name && !strings.HasPrefix(m.name, o.only+"-") {
			continue
		}
		known = true
		begun := time.Now()
		got, err := m.measure(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for i := range got {
			got[i].Part = m.name
			fmt.Println(got[i])
		}
		fmt.Printf("(%s took %s)\n", m.name, time.Since(begun).Round(time.Second))
		lines = append(lines, got...)
	}
	switch {
	case !known:
		return fmt.Errorf("-only %q is no part; it can be %s", o.only, names)
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
