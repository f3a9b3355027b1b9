// Package simsuite holds runtimes that lead to simulated engines to the conformance suite.
// Tests of such runtimes use it, and nobody else.
package simsuite

import (
	"context"
	"net/netip"
	"runtime"
	"strconv"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

// WaitVirtual advances the clock and lets other goroutines see it; past the
// virtual bound it only waits for them.
func WaitVirtual(ctx context.Context, clock *dockertest.Clock, cond func() bool) bool {
	limit := clock.Now().Add(2 * time.Minute)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for !cond() {
		if ctx.Err() != nil {
			return false
		}
		if clock.Now().Before(limit) {
			clock.Advance(10 * time.Millisecond)
		}
		runtime.Gosched()
	}
	return true
}

// WaitWall polls on the time of a synctest bubble.
func WaitWall(cond func() bool) bool {
	limit := time.Now().Add(2 * time.Minute)
	for !cond() {
		if time.Now().After(limit) {
			return false
		}
		<-time.After(10 * time.Millisecond)
	}
	return true
}

// Fixture gives an engine the images of the suite. The caller says how time passes, and
// may put another runtime in place of the engine.
func Fixture(e *dockertest.Engine) dockertest.Fixture {
	e.AddImage("sleep:1", docker.Image{}, dockertest.Behaviour{PerRun: func(r dockertest.Run) dockertest.Behaviour {
		if len(r.Spec.Entrypoint) > 0 {
			return dockertest.Behaviour{StartError: "exec " + r.Spec.Entrypoint[0] + ": no such file or directory"}
		}
		return dockertest.Behaviour{Exec: tool}
	}})
	e.AddImage("busy:1", docker.Image{}, dockertest.Behaviour{Stats: func(time.Duration) docker.Stats { return docker.Stats{CPUPercent: 30} }})
	e.AddImage("exit:1", docker.Image{}, dockertest.Behaviour{PerRun: func(r dockertest.Run) dockertest.Behaviour {
		code, _ := strconv.Atoi(r.Spec.Command[0])
		return dockertest.Behaviour{Exit: &dockertest.Exit{After: 20 * time.Millisecond, Code: code}}
	}})
	var log []dockertest.LogAt
	for i, l := range dockertest.SuiteLog() {
		log = append(log, dockertest.LogAt{After: time.Duration(i) * time.Millisecond, Stream: l.Stream, Text: l.Text})
	}
	e.AddImage("logs:1", docker.Image{}, dockertest.Behaviour{Log: log})
	e.AddImage("stubborn:1", docker.Image{}, dockertest.Behaviour{IgnoreTerm: true})
	e.AddImage("oom:1", docker.Image{}, dockertest.Behaviour{Exit: &dockertest.Exit{After: 50 * time.Millisecond, OOM: true}})
	auth := docker.RegistryAuth{Username: "u", Password: "secret"}
	e.AddRemote("registry.test/app:1", dockertest.Remote{Time: time.Second})
	e.AddRemote("registry.test/private:1", dockertest.Remote{Auth: &auth})

	subnet, port := 0, 20000
	return dockertest.Fixture{
		Runtime: e, Prefix: "conform",
		Subnet: func() netip.Prefix {
			subnet++
			return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 99, byte(subnet), 0}), 24)
		},
		Sleep: dockertest.Program{Image: "sleep:1"}, Logs: dockertest.Program{Image: "logs:1"},
		Exit: func(code int) dockertest.Program {
			return dockertest.Program{Image: "exit:1", Command: []string{strconv.Itoa(code)}}
		},
		Stubborn: dockertest.Program{Image: "stubborn:1"}, OOM: dockertest.Program{Image: "oom:1"},
		Tools: tools(), Busy: dockertest.Program{Image: "busy:1"},
		HostPort:     func() int { port++; return port },
		UnknownImage: "registry.test/none:1", PullImage: "registry.test/app:1",
		PrivateImage: "registry.test/private:1", PrivateAuth: auth,
	}
}
