package engine_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

// The cases run side by side: most of their time is spent waiting for the
// engine.
func TestTheRealEngineConforms(t *testing.T) {
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
	for _, c := range dockertest.SuiteCases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			r := newBareRig(t)
			fx := base
			fx.Runtime, fx.Prefix, fx.Subnet = r.Client, r.prefix, r.freeSubnet
			if strings.HasPrefix(c.Name, "Pull") {
				// Of its own: an engine that removes one name of an image may lose another
				// that is just being pulled.
				img := testimage.Image(t, "probe", testimage.Label("suite", r.prefix))
				fx.PullImage, fx.PrivateImage = r.push(public, img), r.push(private, img)
			}
			c.Run(t, fx)
		})
	}
}

// push offers an image under a name of the rig's own, and takes what was
// pulled off the engine in the end.
func (r *rig) push(reg *testimage.RegistryServer, img *testimage.Built) string {
	r.t.Helper()
	ref, digest := reg.Push(r.t, r.prefix+"/app:1", img)
	r.t.Cleanup(func() {
		testimage.Remove(r.t, r.socket, ref)
		testimage.Remove(r.t, r.socket, strings.TrimSuffix(ref, ":1")+"@"+digest)
	})
	return ref
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
