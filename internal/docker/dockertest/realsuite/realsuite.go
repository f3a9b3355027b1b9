// Package realsuite holds a client of a real Docker engine to the conformance suite, by
// whatever way it reaches the engine. Tests of such clients use it, and nobody else.
package realsuite

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

// Run runs every case. open is called for each with the path of the engine's socket.
// The cases run side by side: most of their time is spent waiting for the engine.
func Run(t *testing.T, open func(t testing.TB, socket string) docker.Runtime) {
	run(t, dockertest.SuiteCases(), open)
}

// ways are cases that between them go every way that a call takes to an engine and
// back: a question and its answer, both when they are done and when they are given up; a
// refusal; a body that is sent; an answer that goes on until it ends, or whoever reads
// it does; and a connection that both ends write to, and close one side of.
var ways = []string{
	"InfoDescribesTheEngine", "StartRunsAndRepeatedStartSucceeds", "CreateOfATakenNameIsAConflict",
	"ADoneContextEndsACall", "CallsMayOverlap", "StopKillsAfterTheGraceRoundedUp",
	"FilesLandInTheVolumeOfAContainerThatNeverStarted", "PullBringsTheImageAndReportsProgress", "PullHonoursItsContext",
	"LogsAreWholeLinesInOrderWithStreamAndTime", "FollowEndsWithTheContainer", "FollowEndsWithItsContext",
	"EventsFollowTheLifeOfAContainer", "EventsEndWithTheirContext",
	"ACommandsOutputsAreApartAndItsCodeIsReturned", "InputReachesACommandAndEnds",
	"AnInputThatNeverEndsDoesNotHoldACommandThatEnded", "ACommandAnswersWhileItReads", "ADoneContextEndsTheAttachment",
	"ACommandEndsWithItsContainer", "AnErrorOfAWriterEndsTheAttachment", "ATerminalIsOneStream",
}

// RunWays runs only the cases for which it matters how the engine is reached, for a
// client that another run holds to all of them.
func RunWays(t *testing.T, open func(t testing.TB, socket string) docker.Runtime) {
	all := dockertest.SuiteCases()
	var cases []dockertest.SuiteCase
	for _, name := range ways {
		i := slices.IndexFunc(all, func(c dockertest.SuiteCase) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("the suite has no case %s", name)
		}
		cases = append(cases, all[i])
	}
	t.Logf("%d of %d cases", len(cases), len(all))
	run(t, cases, open)
}

func run(t *testing.T, cases []dockertest.SuiteCase, open func(t testing.TB, socket string) docker.Runtime) {
	socket := testimage.Socket(t)
	base := dockertest.Fixture{Wait: poll, HostPort: func() int { return freePort(t) }}
	probe := testimage.Build(t, socket, "probe")
	base.Sleep, base.Stubborn = program(probe, "wait"), program(probe, "ignore", "wait")
	base.Exit = func(code int) dockertest.Program { return program(probe, fmt.Sprint("exit:", code)) }
	base.Logs, base.OOM = program(probe, append(logSteps(), "wait")...), program(probe, "eat:200")
	base.Tools, base.Busy = tools(), program(probe, "spin")
	public, private := testimage.Registry(t), testimage.RegistryWithAuth(t, "ferry", "pa55 word")
	base.UnknownImage = public.Host + "/none:1"
	base.PrivateAuth = docker.RegistryAuth{Username: private.Username, Password: private.Password, ServerAddress: private.Host}
	seed := newSeed()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			fx := base
			fx.Runtime, fx.Prefix = open(t, socket), newPrefix()
			fx.Subnet = func() netip.Prefix { return freeSubnet(t, fx.Runtime, seed) }
			if strings.HasPrefix(c.Name, "Pull") {
				// Of its own: an engine that removes one name of an image may lose another
				// that is just being pulled.
				img := testimage.Image(t, "probe", testimage.Label("suite", fx.Prefix))
				fx.PullImage, fx.PrivateImage = push(t, socket, fx.Prefix, public, img), push(t, socket, fx.Prefix, private, img)
			}
			c.Run(t, fx)
		})
	}
}

// push offers an image under a name of the case's own, and takes what was pulled off the
// engine in the end.
func push(t testing.TB, socket, prefix string, reg *testimage.RegistryServer, img *testimage.Built) string {
	t.Helper()
	ref, digest := reg.Push(t, prefix+"/app:1", img)
	t.Cleanup(func() {
		testimage.Remove(t, socket, ref)
		testimage.Remove(t, socket, strings.TrimSuffix(ref, ":1")+"@"+digest)
	})
	return ref
}

func newPrefix() string {
	var id [4]byte
	_, _ = rand.Read(id[:])
	return "berth-enginetest-" + hex.EncodeToString(id[:])
}

// newSeed keeps test processes that run side by side mostly apart.
func newSeed() *atomic.Uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:])
	seed := new(atomic.Uint32)
	seed.Store(binary.BigEndian.Uint32(b[:]))
	return seed
}

// freeSubnet is one that no network of the engine has at this moment.
func freeSubnet(t testing.TB, r docker.Runtime, seed *atomic.Uint32) netip.Prefix {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	networks, err := r.ListNetworks(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for {
		n := seed.Add(1)
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 200 + byte(n>>8)%50, byte(n), 0}), 24)
		if !slices.ContainsFunc(networks, func(n docker.NetworkDetail) bool {
			return slices.ContainsFunc(n.Subnets, subnet.Overlaps)
		}) {
			return subnet
		}
	}
}

func program(image string, steps ...string) dockertest.Program {
	return dockertest.Program{Image: image, Command: steps}
}

// tools are the probe program's steps, for commands in its containers.
func tools() dockertest.Tools {
	steps := func(s ...string) []string { return append([]string{"/probe"}, s...) }
	return dockertest.Tools{
		Print: func(stdout, stderr string, code int) []string {
			return steps("out:"+stdout, "err:"+stderr, fmt.Sprint("exit:", code))
		},
		Copy: steps("cat"), Where: steps("where"),
		Env:     func(name string) []string { return steps("getenv:" + name) },
		Read:    func(path string) []string { return steps("dump:" + path) },
		Stat:    func(path string) []string { return steps("stat:" + path) },
		Write:   func(path, text string) []string { return steps("write:" + path + ":" + text) },
		Resolve: func(name string) []string { return steps("resolve:" + name) },
		Size:    func(s docker.TermSize) []string { return steps(fmt.Sprintf("size:%dx%d", s.Width, s.Height)) },
	}
}

func logSteps() []string {
	var steps []string
	for _, l := range dockertest.SuiteLog() {
		name := "out:"
		if l.Stream == docker.Stderr {
			name = "err:"
		}
		steps = append(steps, name+l.Text)
	}
	return steps
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// poll waits on the wall clock.
func poll(cond func() bool) bool {
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}
