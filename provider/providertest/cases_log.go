package providertest

import (
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/providertest/script"
)

var needLogs = []provider.Capability{provider.CapProvision, provider.CapLogs}

// logCases are about Logs.
var logCases = []Case{
	{Name: "Logs/Lines", Needs: needLogs, run: logLines},
	{Name: "Logs/ByService", Needs: needLogs, run: logsByService},
	{Name: "Logs/ByReplica", Needs: needLogs, run: logsByReplica},
	{Name: "Logs/Since", Needs: needLogs, run: logsSince},
	{Name: "Logs/Tail", Needs: needLogs, run: logsTail},
	{Name: "Logs/Follow", Needs: needLogs, run: logsFollow},
	{Name: "Logs/FollowEnds", Needs: needLogs, run: logsFollowEnds},
	{Name: "Logs/LongLine", Needs: needLogs, run: logsLong},
	{Name: "Logs/Unknown", Needs: needLogs, run: logsUnknown},
	{Name: "Logs/Stopped", Needs: needLogs, run: logsStopped},
}

// talking is a main service that prints before it serves.
func (e *env) talking(steps ...string) provider.ServiceSpec {
	svc := e.web("web", provider.RoleMain, port)
	svc.Args = serving(port, steps...)
	return svc
}

// of are the lines of one stream.
func of(all []provider.LogLine, stream string) []string {
	var out []string
	for _, l := range all {
		if l.Stream == stream {
			out = append(out, l.Line)
		}
	}
	return out
}

func logLines(e *env) {
	req := e.request(e.talking("lines:6", "out:", "out:  spaces and ünïcode  ", "out:end"))
	st := e.running(req)
	all := e.logsWith(req.InstanceID, provider.LogOptions{}, "end")
	if got, want := of(all, provider.LogStdout), []string{"line 0", "line 2", "line 4", "", "  spaces and ünïcode  ", "end"}; !slices.Equal(got, want) {
		e.Errorf("standard output is %q, want %q", got, want)
	}
	if got, want := of(all, provider.LogStderr), []string{"line 1", "line 3", "line 5"}; !slices.Equal(got, want) {
		e.Errorf("standard error is %q, want %q", got, want)
	}
	began := st.Services["web"].Replicas[0].StartedAt.Add(-time.Second)
	for _, l := range all {
		if l.Service != "web" || l.Replica != 0 || l.Partial || l.Time.Before(began) || l.Time.After(began.Add(time.Hour)) {
			e.Errorf("line %+v of web, replica 0, which started at %s", l, began)
		}
	}
	for _, stream := range []string{provider.LogStdout, provider.LogStderr} { // which an orchestrator reads at the same time
		lines := slices.DeleteFunc(slices.Clone(all), func(l provider.LogLine) bool { return l.Stream != stream })
		if !slices.IsSortedFunc(lines, func(a, b provider.LogLine) int { return a.Time.Compare(b.Time) }) {
			e.Errorf("the lines of %s are not in the order of their times: %+v", stream, all)
		}
	}
}

func logsByService(e *env) {
	side := e.web("side", provider.RoleSidecar, port+1)
	side.Args = serving(port+1, "out:of the sidecar")
	req := e.request(e.talking("out:of main"), side, e.task("prepare", provider.RoleInit, "out:of the init"))
	e.running(req)
	for service, text := range map[string]string{"": "of main", "web": "of main", "side": "of the sidecar", "prepare": "of the init"} {
		all := e.logsWith(req.InstanceID, provider.LogOptions{ServiceName: service}, text)
		if len(all) != 1 || service != "" && all[0].Service != service {
			e.Errorf("the logs of %q are %+v", service, all)
		}
	}
}

func logsByReplica(e *env) {
	req := e.request(times(e.talking("out:hello"), 2))
	e.running(req)
	for i := range 2 {
		e.do(req.InstanceID, "web", i, "out:replica "+digits(i))
	}
	for i := range 2 {
		all := e.logsWith(req.InstanceID, provider.LogOptions{Replica: ptr(i)}, "replica "+digits(i))
		for _, l := range all {
			if l.Replica != i {
				e.Errorf("the logs of replica %d hold %+v", i, l)
			}
		}
		if len(all) != 2 {
			e.Errorf("the logs of replica %d are %q", i, texts(all))
		}
	}
	e.Wait(func() bool { return len(e.logs(req.InstanceID, provider.LogOptions{})) == 4 || e.ctx.Err() != nil })
	both := e.logs(req.InstanceID, provider.LogOptions{})
	if !has(both, "replica 0") || !has(both, "replica 1") || len(both) != 4 {
		e.Errorf("the logs of all replicas are %q", texts(both))
	}
}

func logsSince(e *env) {
	req := e.request(e.talking("out:old"))
	e.running(req)
	old := e.logsWith(req.InstanceID, provider.LogOptions{}, "old")
	e.settle()
	e.do(req.InstanceID, "web", 0, "out:new")
	all := e.logsWith(req.InstanceID, provider.LogOptions{}, "new")
	since := old[0].Time.Add(all[len(all)-1].Time.Sub(old[0].Time) / 2)
	if got := texts(e.logs(req.InstanceID, provider.LogOptions{Since: since})); !slices.Equal(got, []string{"new"}) {
		e.Errorf("since a time between two lines the logs are %q", got)
	}
	if got := texts(e.logs(req.InstanceID, provider.LogOptions{Since: all[len(all)-1].Time.Add(time.Minute)})); len(got) != 0 {
		e.Errorf("since a time after every line the logs are %q", got)
	}
}

func logsTail(e *env) {
	req := e.request(e.talking("out:a", "out:b", "out:c", "out:d"))
	e.running(req)
	e.logsWith(req.InstanceID, provider.LogOptions{}, "d")
	for n, want := range map[int][]string{1: {"d"}, 3: {"b", "c", "d"}, 100: {"a", "b", "c", "d"}} {
		if got := texts(e.logs(req.InstanceID, provider.LogOptions{Tail: n})); !slices.Equal(got, want) {
			e.Errorf("the last %d lines are %q", n, got)
		}
	}
}

func logsFollow(e *env) {
	req := e.request(e.talking("out:old"))
	e.running(req)
	e.logsWith(req.InstanceID, provider.LogOptions{}, "old")
	f, tail := e.follow(req.InstanceID, provider.LogOptions{}), e.follow(req.InstanceID, provider.LogOptions{Tail: 1})
	e.sees(f, "old")
	e.do(req.InstanceID, "web", 0, "out:fresh")
	e.sees(f, "fresh")
	e.sees(tail, "fresh")
	e.must(e.Provider.Restart(e.ctx, req.InstanceID), "Restart")
	e.ready(req.InstanceID)
	e.do(req.InstanceID, "web", 0, "out:after the restart")
	e.sees(f, "after the restart")
	if e.has(provider.CapDeploy) {
		e.deployed(req.InstanceID, e.change("web", e.Images.V2))
		e.do(req.InstanceID, "web", 0, "out:after the deploy")
		e.sees(f, "after the deploy")
	}
	count := 0
	for _, l := range f.lines() {
		if l.Line == "fresh" {
			count++
		}
	}
	if count != 1 {
		e.Errorf("the stream brought one line %d times: %q", count, texts(f.lines()))
	}
}

func logsFollowEnds(e *env) {
	req := e.request(e.talking("out:old"))
	e.running(req)
	byContext, byClose := e.follow(req.InstanceID, provider.LogOptions{}), e.follow(req.InstanceID, provider.LogOptions{})
	e.sees(byContext, "old")
	e.sees(byClose, "old")
	byContext.cancel()
	e.ends(byContext, "the end of its context")
	e.must(byClose.stream.Close(), "Close")
	e.ends(byClose, "Close")
	byDeprovision := e.follow(req.InstanceID, provider.LogOptions{})
	e.sees(byDeprovision, "old")
	e.forget(req.InstanceID)
	e.ends(byDeprovision, "Deprovision")
}

func logsLong(e *env) {
	const n = provider.MaxLogLine*2 + 100
	req := e.request(e.talking("long:"+digits(n), "out:end"))
	e.running(req)
	var whole strings.Builder
	for _, l := range e.logsWith(req.InstanceID, provider.LogOptions{}, "end") {
		if l.Line == "end" {
			continue
		}
		if len(l.Line) > provider.MaxLogLine {
			e.Errorf("a line has %d bytes", len(l.Line))
		}
		whole.WriteString(l.Line)
		if done := whole.Len() == n; l.Partial == done {
			e.Errorf("after %d of %d bytes partial is %t", whole.Len(), n, l.Partial)
		}
	}
	if whole.String() != script.LongLine(n) {
		e.Errorf("a line of %d bytes arrived as one of %d, or changed", n, whole.Len())
	}
}

func logsUnknown(e *env) {
	req := e.request()
	e.running(req)
	for what, opts := range map[string]provider.LogOptions{"service": {ServiceName: "nobody"}, "replica": {Replica: ptr(7)}} {
		stream, err := e.Provider.Logs(e.ctx, req.InstanceID, opts)
		if stream != nil {
			_ = stream.Close()
		}
		e.want(err, provider.ErrNotFound, "Logs of a "+what+" that is not there")
	}
}

func logsStopped(e *env) {
	req := e.request(e.talking("out:last words"))
	e.running(req)
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	e.stopped(req.InstanceID)
	e.logsWith(req.InstanceID, provider.LogOptions{}, "last words")
}
