package providertest

import (
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/provider"
)

// readyCases are about what Status says, and when something is ready.
var readyCases = []Case{
	{Name: "Provision/Status", Needs: needProvision, run: statusTells},
	{Name: "Provision/Endpoints", Needs: needProvision, run: provisionEndpoints},
	{Name: "Provision/Result", Needs: needProvision, run: provisionResult},
	{Name: "Provision/HealthHTTP", Needs: needProvision, run: healthHTTP},
	{Name: "Provision/HealthTCP", Needs: needProvision, run: healthTCP},
	{Name: "Provision/HealthExec", Needs: needProvision, run: healthExec},
	{Name: "Provision/ExpectedStatus", Needs: needProvision, run: expectedStatus},
	{Name: "Provision/NotReady", Needs: needProvision, run: notReady},
	{Name: "Provision/Unhealthy", Needs: needProvision, run: unhealthy},
	{Name: "Provision/Liveness", Needs: needProvision, run: liveness},
	{Name: "Provision/CrashLoop", Needs: needProvision, run: crashLoop},
	{Name: "Provision/MainFails", Needs: needProvision, run: mainFails},
	{Name: "Provision/OutOfMemory", Needs: needProvision, run: outOfMemory},
	{Name: "Provision/UnknownImage", Needs: needProvision, run: unknownImage},
	{Name: "Provision/Labels", Needs: needProvision, run: labels},
}

func statusTells(e *env) {
	before := time.Now().Add(-time.Hour)
	req := e.request(e.task("prepare", provider.RoleInit), e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	st := e.running(req)
	if !st.Available || st.Reason != "" || st.Restarts != 0 {
		e.Errorf("an instance that runs is %s, restarts %d", describe(st), st.Restarts)
	}
	if want := req.InitialRelease(); st.ReleaseID != want || st.TargetReleaseID != want {
		e.Errorf("the release is %s and the target %s, want %s", st.ReleaseID, st.TargetReleaseID, want)
	}
	if st.StartedAt == nil || st.StartedAt.Before(before) {
		e.Errorf("the instance started at %v", st.StartedAt)
	}
	if len(st.Services) != 3 {
		e.Errorf("the status has %d services, want 3", len(st.Services))
	}
	for _, name := range []string{"web", "side"} {
		s := st.Services[name]
		if s.State != provider.StateRunning || !s.Ready || s.Reason != "" || s.ProviderRef == "" || len(s.Replicas) != 1 {
			e.Errorf("service %s is %+v", name, s)
			continue
		}
		if r := s.Replicas[0]; r.Replica != 0 || r.State != provider.StateRunning || !r.Ready || r.ProviderRef != s.ProviderRef || r.StartedAt == nil {
			e.Errorf("the replica of %s is %+v", name, r)
		}
	}
	st.Services["web"] = provider.ServiceStatus{}
	st.Endpoints[0].URL = "changed by the caller"
	if again := e.status(req.InstanceID); again.Services["web"].ProviderRef == "" || again.Endpoints[0].URL == "changed by the caller" {
		e.Errorf("a caller who changed a status changed the next one")
	}
}

func provisionEndpoints(e *env) {
	quiet := e.task("quiet", provider.RoleSidecar, "wait")
	req := e.request(times(e.web("web", provider.RoleMain, port), 2), e.web("side", provider.RoleSidecar, port+1), quiet)
	st := e.running(req)
	if len(endpoints(st, "quiet", -1)) != 0 {
		e.Errorf("a service without ports has endpoints %+v", st.Endpoints)
	}
	if !slices.IsSortedFunc(st.Endpoints, func(a, b provider.Endpoint) int { return strings.Compare(a.ServiceName, b.ServiceName) }) {
		e.Errorf("the endpoints are not sorted by service: %+v", st.Endpoints)
	}
	for name, at := range map[string]int{"web": port, "side": port + 1} {
		all := endpoints(st, name, -1)
		if len(all) == 0 {
			e.Errorf("%s has no endpoint", name)
		}
		for _, ep := range all {
			if ep.URL == "" || ep.Port == 0 || ep.Protocol == "" || ep.Public {
				e.Errorf("endpoint of %s, port %d: %+v", name, at, ep)
			}
			said, err := e.ask(e.ctx, ep, "args")
			if err != nil || !strings.Contains(said, "listen:"+digits(at)) {
				e.Errorf("endpoint %s of %s answered %q, %v", ep.URL, name, said, err)
			}
		}
	}
}

func provisionResult(e *env) {
	req := e.request()
	res := e.provision(req)
	st := e.ready(req.InstanceID)
	for _, ep := range res.Endpoints {
		if !slices.ContainsFunc(st.Endpoints, func(o provider.Endpoint) bool { return o.URL == ep.URL }) {
			e.Errorf("the endpoint %s of the result is none of the status: %+v", ep.URL, st.Endpoints)
		}
	}
	for name, ref := range res.ServiceRefs {
		if st.Services[name].ProviderRef != ref {
			e.Errorf("the reference of %s is %q in the result and %q in the status", name, ref, st.Services[name].ProviderRef)
		}
	}
}

// lateness is when the services of late meet their check.
const lateness = 2 * time.Second

// late provisions a service that meets its check after its lateness and fails when
// it is ready before. A provider may wait for it in the call.
func (e *env) late(check *provider.HealthCheckSpec, args []string) {
	e.Helper()
	svc := e.web("web", provider.RoleMain, port)
	svc.Args, svc.HealthCheck = args, check
	req := e.request(svc)
	e.know(req.InstanceID)
	soonest := time.Now().Add(lateness) // nothing has started before now
	done := make(chan error, 1)
	go func() {
		_, err := e.Provider.Provision(e.ctx, req)
		done <- err
	}()
	early := false
	note := func(st *provider.InstanceStatus) {
		early = early || (st.Ready || st.Available) && time.Now().Before(soonest)
	}
	e.until(req.InstanceID, "started", func(st *provider.InstanceStatus) bool {
		r := st.Services["web"].Replicas
		note(st)
		return len(r) == 1 && r[0].StartedAt != nil
	})
	for range 3 {
		e.settle()
		note(e.status(req.InstanceID))
	}
	if early {
		e.Errorf("the instance was ready before its check was met")
	}
	e.ready(req.InstanceID)
	e.must(<-done, "Provision")
}

func healthHTTP(e *env) {
	e.late(health(port), []string{"unhealthy", "listen:" + digits(port), "sleep:" + lateness.String(), "healthy", "wait"})
}

func healthTCP(e *env) {
	check := health(port)
	check.Path = ""
	e.late(check, serving(port, "sleep:"+lateness.String()))
	e.late(nil, serving(port, "sleep:"+lateness.String())) // the first port is dialled
}

func healthExec(e *env) {
	check := &provider.HealthCheckSpec{Exec: []string{e.Images.Program, "read:/tmp/good"}, Interval: 100 * time.Millisecond, Timeout: time.Second}
	e.late(check, []string{"listen:" + digits(port), "sleep:" + lateness.String(), "write:/tmp/good:yes", "wait"})
}

func expectedStatus(e *env) {
	check := health(port)
	check.ExpectedStatus = 503
	svc := e.web("web", provider.RoleMain, port)
	svc.Args, svc.HealthCheck = serving(port, "unhealthy"), check
	e.running(e.request(svc))
	svc.Args = serving(port)
	req := e.request(svc)
	req.Rollout.ReadyTimeout = wait
	e.provision(req)
	e.failed(req.InstanceID)
}

func notReady(e *env) {
	svc := e.web("web", provider.RoleMain, port)
	svc.Args = serving(port, "unhealthy")
	req := e.request(svc)
	req.Rollout.ReadyTimeout = wait
	e.provision(req)
	st := e.failed(req.InstanceID)
	if st.Reason != provider.ReasonReadyTimeout || st.Ready || st.Available {
		e.Errorf("an instance that was not ready in time is %s", describe(st))
	}
	if !strings.Contains(st.Message+st.Services["web"].Message, "/healthz") {
		e.Errorf("neither %q nor %q says what was asked", st.Message, st.Services["web"].Message)
	}
}

func unhealthy(e *env) {
	req := e.request()
	before := refs(e.running(req), "web")
	e.do(req.InstanceID, "web", 0, "unhealthy")
	st := e.until(req.InstanceID, "unhealthy", func(st *provider.InstanceStatus) bool { return !st.Ready })
	if s := st.Services["web"]; s.Ready || s.Reason != provider.ReasonUnhealthy {
		e.Errorf("a service whose check fails is %s", describe(st))
	}
	if e.has(provider.CapExec) {
		e.execOK(req.InstanceID, provider.ExecRequest{Command: []string{e.Images.Program, "fetch:http://127.0.0.1:" + digits(port) + "/do?step=healthy"}})
		e.ready(req.InstanceID)
		e.same(req.InstanceID, "web", before, "after a time of bad health")
	}
}

func (e *env) has(c provider.Capability) bool { return provider.HasCapability(e.Provider, c) }

func liveness(e *env) {
	svc := e.web("web", provider.RoleMain, port)
	svc.Liveness = health(port)
	req := e.request(svc)
	e.running(req)
	e.do(req.InstanceID, "web", 0, "unhealthy")
	st := e.until(req.InstanceID, "restarted", func(st *provider.InstanceStatus) bool {
		return st.Ready && st.Services["web"].Restarts > 0
	})
	if st.Restarts != st.Services["web"].Restarts || st.Services["web"].Replicas[0].Restarts == 0 {
		e.Errorf("the restarts are %d of the instance, %+v of the service", st.Restarts, st.Services["web"])
	}
}

func crashLoop(e *env) {
	req := e.request()
	e.running(req)
	e.kick(req.InstanceID, "web", 0, "exit:7")
	st := e.until(req.InstanceID, "running again", func(st *provider.InstanceStatus) bool {
		return st.Ready && st.Restarts > 0
	})
	if st.State != provider.StateRunning {
		e.Errorf("a service that came back is %s", describe(st))
	}
	if s := st.Services["web"]; s.Restarts != st.Restarts || s.Replicas[0].Restarts != st.Restarts {
		e.Errorf("the restarts are %d of the instance and %+v of its service", st.Restarts, s)
	}
}

func mainFails(e *env) {
	req := e.request(e.task("web", provider.RoleMain, "err:no licence", "exit:7"))
	req.Rollout.ReadyTimeout, req.Rollout.StableWindow = 5*time.Second, 500*time.Millisecond
	e.provision(req)
	st := e.failed(req.InstanceID)
	if st.Reason != provider.ReasonExited && st.Reason != provider.ReasonCrashLoop || st.Ready || st.Available {
		e.Errorf("an instance whose main ends at once is %s", describe(st))
	}
	if text := st.Message + st.Services["web"].Message; !strings.Contains(text, "7") || !strings.Contains(text, "no licence") {
		e.Errorf("the message %q has not both the exit code and the last line of the log", text)
	}
}

// outOfMemory is right with one that is told: engines exist that miss it now and
// then, since the end of a process and the kernel's reason reach them on two ways.
func outOfMemory(e *env) {
	const tries = 4
	var said string
	for range tries {
		svc := e.task("web", provider.RoleMain, "sleep:100ms", "eat:256", "wait")
		svc.Resources.MemoryMB = 32
		req := e.request(svc)
		req.Rollout.ReadyTimeout, req.Rollout.StableWindow = 10*time.Second, 3*time.Second
		e.provision(req)
		st := e.failed(req.InstanceID)
		if s := st.Services["web"]; st.Reason == provider.ReasonOutOfMemory || s.Reason == provider.ReasonOutOfMemory {
			return
		}
		said = describe(st)
	}
	e.Errorf("%d instances that were killed at their memory limit are not told as that; the last is %s", tries, said)
}

func unknownImage(e *env) {
	e.need(e.Images.Unknown != "", "image that is unknown")
	svc := e.web("web", provider.RoleMain, port)
	svc.Image = e.Images.Unknown
	req := e.request(svc)
	req.Rollout.ReadyTimeout = 10 * time.Second
	e.provision(req)
	st := e.failed(req.InstanceID)
	if st.Reason != provider.ReasonImageUnavailable {
		e.Errorf("an instance whose image does not exist is %s", describe(st))
	}
}

func labels(e *env) {
	e.need(e.Inspect != nil, "way to inspect containers")
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	req.Labels = map[string]string{"team": "blue"}
	req.Services[0].Annotations = map[string]string{"note": "of web"}
	e.running(req)
	e.runs(req.InstanceID, 2)
	for _, c := range e.Inspect(req.InstanceID) {
		if c.Labels["team"] != "blue" {
			e.Errorf("%s has the labels %v", c.Service, c.Labels)
		}
		if has := c.Labels["note"] == "of web"; has != (c.Service == "web") {
			e.Errorf("the annotation of web is on %s: %t", c.Service, has)
		}
	}
}
