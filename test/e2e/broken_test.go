package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
	"github.com/berth-cloud/berth/internal/wire"
)

// settleTime is how long what a failed change left may take to go.
const settleTime = 15 * time.Second

// site is an app file of one service, web, with more keys of the service.
func site(app, image, more string) string {
	return fmt.Sprintf(`name: %[1]s
services:
  web:
    image: %[2]s
    port: 8080
    domains: [%[1]s.localhost]
    stop_grace: 2s
    drain_timeout: 2s
%[3]s`, app, image, more)
}

const (
	quickProbe = `
    health:
      readiness: {path: /healthz, interval: 200ms, timeout: 500ms}
      ready_timeout: 2s
`
	volume = `
    volumes:
      - {name: data, path: /data}
`
)

// TestABrokenReleaseNeverServes changes a good release into each kind of
// broken one.
func TestABrokenReleaseNeverServes(t *testing.T) {
	t.Parallel()
	b := start(t)
	v1, v2 := b.web("v1"), b.web("v2")
	nowhere := testimage.Registry(t).Host + "/team/nothing:7"
	for _, tc := range []struct {
		name, image, more string
		reason            string
		says              []string
	}{
		{"exits", v2, quickProbe + "    env: {MODE: exit, EXIT_CODE: \"3\"}\n", "ExitedDuringReadiness",
			[]string{"exited with code 3", "web: giving up with code 3", "What it printed: `berth logs exits-"}},
		{"exits-well", v2, quickProbe + "    env: {MODE: exit, EXIT_CODE: \"0\"}\n", "ExitedDuringReadiness",
			[]string{"exited with code 0", "web: giving up with code 0"}},
		{"exits-later", v2, quickProbe + "    stable_window: 5s\n    env: {MODE: crash, AFTER: 2s}\n", "ExitedDuringStableWindow",
			[]string{"exited with code 1", "web: crashing as asked"}},
		{"elsewhere", v2, quickProbe + "    env: {MODE: elsewhere}\n", "ReadinessFailed",
			[]string{"within 2s", "refused the connection", "listens on [::]:8081"}},
		{"elsewhere-plain", v2, "    health: {ready_timeout: 1s}\n    env: {MODE: elsewhere}\n", "ReadinessFailed",
			[]string{"within 1s", ":8080 refused the connection", "listens on [::]:8081"}},
		{"errs", v2, quickProbe + "    env: {MODE: error}\n", "ReadinessFailed",
			[]string{"/healthz", "500", "200-299"}},
		{"silent", v2, quickProbe + "    env: {MODE: silent}\n", "ReadinessFailed",
			[]string{"/healthz", "within 500ms"}},
		{"eats", v2, quickProbe + "    stable_window: 5s\n    resources: {memory: 24Mi}\n    env: {MODE: memory}\n", "OOMKilledDuring",
			[]string{"ran out of memory", "resources.memory"}},
		{"unknown", nowhere, quickProbe, "ImageNotFound", []string{nowhere, "check the name and the tag"}},
		{"no-program", v2, quickProbe + "    command: [/no/such/program]\n", "StartFailed",
			[]string{"/no/such/program", "no such file"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := b.in(t)
			app := b.app(tc.name)
			b.apply(0, site(app, v1, quickProbe))
			before := b.engine.runs(b.instance, app)
			done := b.traffic(app + ".localhost")

			out := b.apply(1, site(app, tc.image, tc.more))
			t.Log(out.text)
			if tc.reason == "OOMKilledDuring" && strings.Contains(out.text, "for its memory, which an engine does not always tell") {
				tc.reason, tc.says = "ExitedDuring", []string{"exited with code 137"} // this engine missed it
			}
			b.has(out, "failed web: "+tc.reason, "v1 still serves", "apply again")
			b.has(out, tc.says...)
			b.eventually(settleTime, "only what ran before is left", func(context.Context) error {
				if now := b.engine.runs(b.instance, app); !slices.Equal(now, before) {
					return fmt.Errorf("before: %q, now: %q", before, now)
				}
				return nil
			})
			b.isDegraded(app, tc.reason)
			onlyBy(t, done(), "v1")
		})
	}
}

// isDegraded expects that the app serves, but not what was asked for, and that
// its status says why.
func (b *berth) isDegraded(app, reason string) {
	b.t.Helper()
	out := b.want(0, "", "status", app)
	b.has(out, "degraded", reason)
	s := b.status(app)
	if s.State != wire.StateDegraded || s.LastAttempt == nil || s.LastAttempt.State != wire.AttemptFailed {
		b.t.Errorf("status: %s, last attempt %+v", s.State, s.LastAttempt)
	}
	if got := s.Services[0].LastAttempt.Reason; !strings.HasPrefix(got, reason) {
		b.t.Errorf("reason %s, want %s", got, reason)
	}
}
