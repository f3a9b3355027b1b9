package dockerprovider

import (
	"context"
	"flag"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/providertest"
)

// checksGiven says that a flag says how many histories the models try.
var checksGiven bool

// setModelSteps gives the models their steps unless a flag says otherwise.
func setModelSteps() {
	flag.Parse()
	stepsGiven := false
	flag.Visit(func(f *flag.Flag) {
		checksGiven = checksGiven || f.Name == "rapid.checks"
		stepsGiven = stepsGiven || f.Name == "rapid.steps"
	})
	if !stepsGiven {
		setFlag("rapid.steps", "50")
	}
}

func setFlag(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

// tries makes a model try so many histories unless a flag says otherwise.
func tries(t *testing.T, checks string) {
	if checksGiven {
		return
	}
	before := flag.Lookup("rapid.checks").Value.String()
	setFlag("rapid.checks", checks)
	t.Cleanup(func() { setFlag("rapid.checks", before) })
}

func TestTheDriverKeepsToTheModelThroughCrashesAndFaults(t *testing.T) {
	tries(t, modelChecks)
	providertest.Model(t, func(t testing.TB) providertest.Fixture { return newWorld(t).fixture() })
}

// world is a rig under the suite of providers.
type world struct {
	*rig
	k *killer
	// due is when the next Step is, of those that were asked for since time went
	// on; zero for none.
	due time.Time
	// since is when the process began.
	since time.Time
}

func newWorld(t testing.TB) *world {
	w := &world{rig: newRig(t)}
	for _, version := range []string{"1", "2"} {
		w.engine.AddImage("program:"+version, docker.Image{}, dockertest.Behaviour{PerRun: scripted})
	}
	return w
}

// startDelay passes before a process of the suite's images listens.
const startDelay = 30 * time.Millisecond

// scripted is a process that does what its arguments say, as the program of the
// suite does.
func scripted(run dockertest.Run) dockertest.Behaviour {
	b := dockertest.Behaviour{StartDelay: startDelay, StopTime: 10 * time.Millisecond, Exec: script}
	for _, step := range run.Spec.Command {
		name, value, _ := strings.Cut(step, ":")
		n, _ := strconv.Atoi(value)
		switch name {
		case "listen":
			b.Port = n
		case "exit":
			b.Exit = &dockertest.Exit{After: 20 * time.Millisecond, Code: n}
		}
	}
	return b
}

// script is the program executed beside.
func script(run dockertest.ExecRun) dockertest.ExecOutcome {
	var out strings.Builder
	for _, step := range run.Command[1:] {
		name, value, _ := strings.Cut(step, ":")
		switch name {
		case "env":
			for _, v := range run.Env {
				if v.Name == value {
					out.WriteString(v.Value + "\n")
				}
			}
		case "read":
			f, ok := run.File(value)
			if !ok {
				return dockertest.ExecOutcome{Code: 1, Stderr: "no such file"}
			}
			out.Write(f.Data)
		default:
			return dockertest.ExecOutcome{Code: 1, Stderr: "no such step"}
		}
	}
	return dockertest.ExecOutcome{Stdout: out.String()}
}

func (w *world) fixture() providertest.Fixture {
	return providertest.Fixture{
		Provider: w.process(), Vault: w.vault, Tenant: tenant, Silent: true, Wait: w.wait,
		Images:    providertest.Images{V1: "program:1", V2: "program:2"},
		Restart:   func(bool) provider.Provider { return w.process() },
		Leftovers: w.leftovers,
		Fault:     w.fault,
	}
}

// process starts a process on what is there.
func (w *world) process() provider.Provider {
	w.Helper()
	w.k, w.since = &killer{}, w.clock.Now()
	d, err := New(mortalEngine{w.engine, w.k}, Options{
		State: mortalState{w.state, w.k}, Vault: mortalVault{w.vault, w.k}, Now: w.clock.Now,
		Prober: simProber{w.engine}, SpawnPull: func(f func()) { f() },
	})
	w.ok(err)
	return stepped{d, w}
}

// fault aims at an effect of the process.
func (w *world) fault(f providertest.Fault) func() bool {
	switch f.Kind {
	case providertest.FailBefore, providertest.FailAfter, providertest.CutBefore, providertest.CutAfter:
		w.k.aim(f.Call, f.Kind == providertest.FailAfter || f.Kind == providertest.CutAfter,
			f.Kind == providertest.FailBefore || f.Kind == providertest.FailAfter)
		return w.k.struck
	case providertest.Hang: // no deadline comes by itself on virtual time
	}
	return nil
}

// stepped notes when the next Step is due.
type stepped struct {
	*Driver
	w *world
}

// Step implements provider.Stepper.
func (s stepped) Step(ctx context.Context, workload id.ID) (time.Duration, error) {
	next, err := s.Driver.Step(ctx, workload)
	if at := s.w.clock.Now().Add(next); next > 0 && (s.w.due.IsZero() || at.Before(s.w.due)) {
		s.w.due = at
	}
	return next, err
}

// patience bounds a wait, and longest one leap of time.
const (
	patience = 5 * time.Minute
	longest  = time.Second
)

// wait lets time go on to where something happens: a Step is due, or something
// in the engine.
func (w *world) wait(cond func() bool) bool {
	end := w.clock.Now().Add(patience)
	for !cond() {
		now := w.clock.Now()
		if now.After(end) {
			return false
		}
		to := now.Add(longest)
		if !w.due.IsZero() && w.due.Before(to) {
			to = w.due
		}
		if at, ok := w.clock.Next(); ok && at.Before(to) {
			to = at
		}
		w.due = time.Time{}
		w.clock.Advance(max(to.Sub(now), time.Millisecond))
	}
	return true
}
