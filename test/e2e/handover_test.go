package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"
)

// TestAHandOverThatFailsBringsTheOldReleaseBack changes services that cannot
// run twice at once: requests are held while the old container is stopped, and
// answered by it once it is started again.
func TestAHandOverThatFailsBringsTheOldReleaseBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	v1, v2 := b.web("v1"), b.web("v2")
	taken := occupy(t)
	for _, tc := range []struct {
		name, image, more string
		reason            string
		says              []string
	}{
		{"ho-exits", v2, quickProbe + volume + "    env: {MODE: exit}\n", "ExitedDuringReadiness", []string{"exited with code 1"}},
		{"ho-elsewhere", v2, quickProbe + volume + "    env: {MODE: elsewhere}\n", "ReadinessFailed", []string{"refused the connection"}},
		{"ho-missing", v2, quickProbe + volume + "    command: [no-such-program]\n", "StartFailed", []string{`no program "no-such-program"`, "command"}},
		{"ho-port", v2, quickProbe + volume + publish(taken), "HostPortInUse", []string{strconv.Itoa(taken), "in use"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := b.in(t)
			app := b.app(tc.name)
			host := app + ".localhost"
			b.apply(0, site(app, v1, quickProbe+volume))
			if code, body, err := b.request(t.Context(), http.MethodPut, host, "/data/note", "kept"); err != nil || code != http.StatusOK {
				t.Fatalf("write to the volume: %d %s %v", code, body, err)
			}
			names := b.names(app)
			done := b.traffic(host)

			out := b.apply(1, site(app, tc.image, tc.more), "--yes")
			t.Log(out.text)
			b.has(out, "failed web: "+tc.reason, "v1 is started again", "apply again")
			b.has(out, tc.says...)
			b.eventually(settleTime, "the old release serves alone again", func(ctx context.Context) error {
				if now := b.names(app); !slices.Equal(now, names) {
					return fmt.Errorf("before: %q, now: %q", names, now)
				}
				code, body, err := b.request(ctx, http.MethodGet, host, "/data/note", "")
				if err != nil || code != http.StatusOK || body != "kept" {
					return fmt.Errorf("the note: %d %s %w", code, body, err)
				}
				return nil
			})
			b.isDegraded(app, tc.reason)
			onlyBy(t, done(), "v1")
		})
	}
}

// TestAPublishedPortIsHandedOver changes a service that holds a port of the
// host: requests by name are held meanwhile, and the port is served again.
func TestAPublishedPortIsHandedOver(t *testing.T) {
	b := start(t)
	app, port := b.app("port"), freePort(t)
	b.apply(0, site(app, b.web("v1"), quickProbe+publish(port)))
	done := b.traffic(app + ".localhost")
	out := b.apply(3, site(app, b.web("v2"), quickProbe+publish(port)))
	b.has(out, "interrupts web", fmt.Sprintf("port %d", port))
	b.apply(0, site(app, b.web("v2"), quickProbe+publish(port)), "--yes")
	if got := b.get(app+".localhost", "/version"); got != "v2\n" {
		t.Errorf("served by %q", got)
	}
	b.addr = fmt.Sprintf("127.0.0.1:%d", port)
	if got := b.get("127.0.0.1", "/version"); got != "v2\n" {
		t.Errorf("the published port is served by %q", got)
	}
	if got := done(); !slices.Equal(got, []string{"v1", "v2"}) {
		t.Errorf("answers came from %q", got)
	}
}

// freePort is a port of the host that nothing holds now.
func freePort(t *testing.T) int {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// names are the containers of an app and their states.
func (b *berth) names(app string) []string {
	b.t.Helper()
	var out []string
	for _, c := range b.engine.containers(b.instance, app) {
		out = append(out, c.Names[0]+" "+string(c.State))
	}
	return out
}

// occupy holds a port of the host until the test ends.
func occupy(t *testing.T) int {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func publish(port int) string {
	return fmt.Sprintf("    publish:\n      - {port: 8080, host_port: %d}\n", port)
}
