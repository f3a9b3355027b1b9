package providertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/provider"
)

var needVolumes = []provider.Capability{provider.CapProvision, provider.CapVolumes}

// groupCases are about the members of a group.
var groupCases = []Case{
	{Name: "Provision/Order", Needs: needVolumes, run: order},
	{Name: "Provision/PerReplica", Needs: needVolumes, run: perReplica},
	{Name: "Provision/SidecarBeforeMain", Needs: needProvision, run: sidecarBeforeMain},
	{Name: "Provision/SidecarAfterReadyMain", Needs: needProvision, run: sidecarAfterReadyMain},
	{Name: "Provision/InitFails", Needs: needProvision, run: initFails},
}

// diary is a step that writes into the volume that the members share.
func diary(text string) string { return "append:/data/diary:" + text }

func order(e *env) {
	main := mounted(e.web("web", provider.RoleMain, port), true)
	main.Args = serving(port, diary("main"))
	side := mounted(e.web("side", provider.RoleSidecar, port+1), true)
	side.Args = serving(port+1, "sleep:200ms", diary("side"))
	// The list is not in order; what they depend on is.
	third := mounted(e.task("third", provider.RoleInit, diary("third")), true)
	third.DependsOn = []string{"second"}
	first := mounted(e.task("first", provider.RoleInit, "sleep:300ms", diary("first")), true)
	second := mounted(e.task("second", provider.RoleInit, "sleep:100ms", diary("second")), true)
	second.DependsOn = []string{"first"}
	req := e.request(side, third, second, main, first)
	st := e.running(req)
	got := strings.Fields(e.do(req.InstanceID, "web", 0, "read:/data/diary"))
	if want := "first second third main side"; strings.Join(got, " ") != want {
		e.Errorf("the members started in the order %q, want %q", got, want)
	}
	for _, name := range []string{"first", "second", "third"} {
		s := st.Services[name]
		if !s.Ready || s.State != provider.StateStopped {
			e.Errorf("init %s, which ended well, is %s and ready %t", name, s.State, s.Ready)
		}
		for _, r := range s.Replicas {
			if r.ExitCode == nil || *r.ExitCode != 0 {
				e.Errorf("init %s has the exit code %v", name, r.ExitCode)
			}
		}
	}
	web, sidecar := st.Services["web"].Replicas, st.Services["side"].Replicas
	if len(web) == 1 && len(sidecar) == 1 && web[0].StartedAt != nil && sidecar[0].StartedAt != nil &&
		sidecar[0].StartedAt.Before(*web[0].StartedAt) {
		e.Errorf("the sidecar started at %s, main at %s", sidecar[0].StartedAt, web[0].StartedAt)
	}
}

func perReplica(e *env) {
	const replicas = 3
	main := times(mounted(e.web("web", provider.RoleMain, port), false), replicas)
	prepare := mounted(e.task("prepare", provider.RoleInit, diary("prepared")), false)
	req := e.request(prepare, main)
	req.Kind = provider.KindStatefulSet
	st := e.running(req)
	for _, name := range []string{"prepare", "web"} {
		all := st.Services[name].Replicas
		if len(all) != replicas {
			e.Fatalf("%s has %d replicas in the status, want %d", name, len(all), replicas)
		}
		for i, r := range all {
			if r.Replica != i {
				e.Errorf("replica %d of %s stands at place %d", r.Replica, name, i)
			}
		}
	}
	for i := range replicas {
		if got := e.do(req.InstanceID, "web", i, "read:/data/diary"); got != "prepared" {
			e.Errorf("the init of replica %d wrote %q into its volume", i, got)
		}
	}
}

// sidecarBeforeMain has a main that dials its sidecar once, when it starts, and a
// sidecar that takes a while.
func sidecarBeforeMain(e *env) {
	side := e.web("side", provider.RoleSidecar, port+1)
	side.Args = serving(port+1, "sleep:500ms")
	main := e.web("web", provider.RoleMain, port)
	main.Args = serving(port, fmt.Sprint("dial:side:", port+1))
	main.DependsOn = []string{"side"}
	st := e.running(e.request(main, side))
	if n := st.Services["web"].Restarts; n != 0 {
		e.Errorf("main was started %d times before what it depends on was ready", n)
	}
}

// sidecarAfterReadyMain has it the other way round.
func sidecarAfterReadyMain(e *env) {
	main := e.web("web", provider.RoleMain, port)
	main.Args = serving(port, "sleep:500ms")
	side := e.web("side", provider.RoleSidecar, port+1)
	side.Args = serving(port+1, fmt.Sprint("dial:web:", port))
	side.DependsOn = []string{"web"}
	st := e.running(e.request(side, main))
	if n := st.Services["side"].Restarts; n != 0 {
		e.Errorf("the sidecar was started %d times before what it depends on was ready", n)
	}
}

func initFails(e *env) {
	req := e.request(
		e.task("prepare", provider.RoleInit, "err:no such table", "exit:3"),
		e.task("later", provider.RoleInit),
		e.web("web", provider.RoleMain, port),
	)
	req.Rollout.ReadyTimeout = 10 * time.Second
	e.provision(req)
	st := e.failed(req.InstanceID)
	if st.Reason != provider.ReasonInitFailed || st.Ready || st.Available {
		e.Errorf("an instance whose init failed is %s", describe(st))
	}
	s := st.Services["prepare"]
	if s.State != provider.StateFailed || s.Reason != provider.ReasonInitFailed || s.Ready {
		e.Errorf("the init that failed is %s, reason %q, ready %t", s.State, s.Reason, s.Ready)
	}
	if len(s.Replicas) != 1 || s.Replicas[0].ExitCode == nil || *s.Replicas[0].ExitCode != 3 {
		e.Errorf("the replicas of the init that failed are %+v, want one with exit code 3", s.Replicas)
	}
	if !strings.Contains(s.Message+st.Message, "3") || !strings.Contains(s.Message+st.Message, "no such table") {
		e.Errorf("neither %q nor %q has the exit code and the last line of the log", st.Message, s.Message)
	}
	e.settle()
	st = e.status(req.InstanceID)
	for _, name := range []string{"later", "web"} {
		for _, r := range st.Services[name].Replicas {
			if r.StartedAt != nil {
				e.Errorf("%s started after an init had failed", name)
			}
		}
	}
}
