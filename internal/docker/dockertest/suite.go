package dockertest

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// Fixture is an engine under the conformance suite. What may stay empty says
// so; the tests that need it are then skipped with a reason.
type Fixture struct {
	Runtime docker.Runtime
	// Prefix begins the name of everything the suite makes, and is unique to
	// the run.
	Prefix string
	// Subnet returns a /24 that nothing uses; another one at each call.
	Subnet func() netip.Prefix
	// Wait passes time, virtual or real, until cond holds; false when it never
	// did within a bound of the fixture's.
	Wait func(cond func() bool) bool

	// Sleep runs until SIGTERM and then exits 0. Its entrypoint may be replaced
	// by one that does not exist.
	Sleep Program
	// Exit exits with the code, at once.
	Exit func(code int) Program
	// Logs prints SuiteLog, then runs until SIGTERM and exits 0. It may print
	// more once it is told to stop.
	Logs Program
	// Stubborn runs and ignores SIGTERM. Optional.
	Stubborn Program
	// OOM takes more memory than SuiteOOMLimit, at once. Optional.
	OOM Program

	// Tools are in the image of Sleep. Optional, all or none.
	Tools Tools
	// Busy keeps a core busy until it is killed. Optional.
	Busy Program

	// HostPort returns a TCP port of 127.0.0.1 that is free. Optional.
	HostPort func() int
	// UnknownImage is a reference that a reachable registry does not have. Optional.
	UnknownImage string
	// PullImage is in a reachable registry and not on the engine. Optional.
	PullImage string
	// PrivateImage needs PrivateAuth. Optional.
	PrivateImage string
	PrivateAuth  docker.RegistryAuth
}

// Program is what a container of the suite runs: an image that is on the
// engine, and the command and environment that make it behave.
type Program struct {
	Image   string
	Command []string
	Env     []docker.EnvVar
}

// SuiteOOMLimit is the memory limit given to Fixture.OOM, in bytes.
const SuiteOOMLimit = 32 << 20

// oomTries is how many processes may run out of memory until the engine says of
// one that it did.
const oomTries = 5

// SuiteLog is what Fixture.Logs prints, in this order, without pausing. The long
// line is cut by engines into frames of 16 KiB and must arrive whole.
func SuiteLog() []docker.LogLine {
	var out []docker.LogLine
	for i := 1; i <= 5; i++ {
		out = append(out,
			docker.LogLine{Stream: docker.Stdout, Text: "out " + strconv.Itoa(i)},
			docker.LogLine{Stream: docker.Stderr, Text: "err " + strconv.Itoa(i)})
	}
	return append(out,
		docker.LogLine{Stream: docker.Stdout, Text: "long " + strings.Repeat("x", 40000)},
		docker.LogLine{Stream: docker.Stdout, Text: ""},
		docker.LogLine{Stream: docker.Stdout, Text: "out end"})
}

// SuiteCase is one test of the suite.
type SuiteCase struct {
	Name string
	run  func(s *suite)
}

// Run runs the case on a fixture of its own.
func (c SuiteCase) Run(t *testing.T, fx Fixture) {
	ctx, cancel := context.WithTimeout(t.Context(), suiteDeadline)
	defer cancel()
	c.run(&suite{T: t, Fixture: fx, ctx: ctx})
}

// suiteDeadline bounds one case on a real engine.
const suiteDeadline = 90 * time.Second

// RunSuite holds the contract of docker.Runtime against an engine. newFixture
// is called once per test; fixtures may share an engine when their prefixes
// and subnets differ.
func RunSuite(t *testing.T, newFixture func(t testing.TB) Fixture) {
	for _, c := range SuiteCases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, newFixture(t)) })
	}
}

// SuiteCases are the tests of the suite, for a caller that wraps each.
func SuiteCases() []SuiteCase {
	var out []SuiteCase
	for _, part := range [][]SuiteCase{
		engineCases, containerCases, stopCases, restartCases, addressCases, portCases,
		listCases, logCases, eventCases, imageCases, moveCases, volumeCases, networkCases,
		execCases, copyCases, statsCases, signalCases, hardeningCases,
	} {
		out = append(out, part...)
	}
	return out
}

// suite is one running case.
type suite struct {
	*testing.T
	Fixture
	ctx  context.Context
	made int
}

// name returns a fresh name.
func (s *suite) name(kind string) string {
	s.made++
	return s.Prefix + "-" + kind + strconv.Itoa(s.made)
}

// cleanup runs f at the end of the test with a context of its own.
func (s *suite) cleanup(f func(ctx context.Context)) {
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		f(ctx)
	})
}

// network makes a network that is removed at the end.
func (s *suite) network(labels map[string]string) docker.NetworkSpec {
	s.Helper()
	spec := docker.NetworkSpec{Name: s.name("net"), Subnet: s.Subnet(), Labels: labels}
	_, err := s.Runtime.CreateNetwork(s.ctx, spec)
	s.must(err, "create network")
	s.cleanup(func(ctx context.Context) { _ = s.Runtime.RemoveNetwork(ctx, spec.Name) })
	return spec
}

// spec returns the spec of a container on a fresh network, at its address .10.
func (s *suite) spec(p Program) docker.ContainerSpec {
	s.Helper()
	n := s.network(nil)
	return docker.ContainerSpec{
		Name: s.name("c"), Image: p.Image, Command: p.Command, Env: p.Env, Labels: map[string]string{s.Prefix: "yes"},
		Network: docker.NetworkAttachment{Network: n.Name, Address: nth(n.Subnet, 10)},
	}
}

// create makes a container that is removed at the end.
func (s *suite) create(spec docker.ContainerSpec) string {
	s.Helper()
	id, err := s.Runtime.Create(s.ctx, spec)
	s.must(err, "create")
	s.cleanup(func(ctx context.Context) {
		_ = s.Runtime.Stop(ctx, id, 0)
		_ = s.Runtime.Remove(ctx, id)
	})
	return id
}

// run creates and starts a container.
func (s *suite) run(spec docker.ContainerSpec) string {
	s.Helper()
	id := s.create(spec)
	s.must(s.Runtime.Start(s.ctx, id), "start")
	return id
}

func (s *suite) inspect(ref string) *docker.ContainerState {
	s.Helper()
	st, err := s.Runtime.Inspect(s.ctx, ref)
	s.must(err, "inspect")
	return st
}

// waitStatus waits until a container has the status and returns its state.
func (s *suite) waitStatus(ref string, want docker.Status) *docker.ContainerState {
	s.Helper()
	var st *docker.ContainerState
	if !s.Wait(func() bool { st = s.inspect(ref); return st.Status == want }) {
		s.Fatalf("container is %s, want %s", st.Status, want)
	}
	return st
}

func (s *suite) must(err error, what string) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// wantErr fails unless err is of the kind that is says.
func (s *suite) wantErr(err error, is func(error) bool, what string) {
	s.Helper()
	if !is(err) {
		s.Fatalf("%s: got error %v", what, err)
	}
}

// need skips the test when the fixture lacks something.
func (s *suite) need(have bool, what string) {
	s.Helper()
	if !have {
		s.Skip("the fixture has no " + what)
	}
}

// nth is the n-th address of a subnet.
func nth(p netip.Prefix, n int) netip.Addr {
	a := p.Masked().Addr()
	for range n {
		a = a.Next()
	}
	return a
}
