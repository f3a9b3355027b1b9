package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/wire"
)

// TestAReleaseThatCrashesLaterIsNamedAndRolledBack deploys one that proves
// itself well and ends again and again once it serves.
func TestAReleaseThatCrashesLaterIsNamedAndRolledBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	app := b.app("loops")
	b.apply(0, site(app, b.web("v1"), quickProbe))
	b.apply(0, site(app, b.web("v2"), quickProbe+"    env: {MODE: crash, AFTER: 1500ms, EXIT_CODE: \"4\"}\n"))
	var out output
	b.eventually(commandTimeout, "the status names the crash loop", func(context.Context) error {
		if out = b.run("", "status", app); !strings.Contains(out.text, "CrashLoopBackOff") {
			return fmt.Errorf("%s", out.text)
		}
		return nil
	})
	t.Log(out.text)
	b.has(out, "failed", "exited with code 4", "web: crashing as asked")
	if code, body, err := b.request(t.Context(), http.MethodGet, app+".localhost", "/version", ""); err != nil || code == http.StatusNotFound {
		t.Errorf("while nothing is ready: %d %s %v", code, body, err)
	}

	b.has(b.want(0, "", "rollback", app+"/web"), "ready  web v1")
	if got := b.get(app+".localhost", "/version"); got != "v1\n" {
		t.Errorf("served by %q", got)
	}
	if s := b.status(app); s.State != wire.StateReady {
		t.Errorf("after the rollback: %s", s.State)
	}
}

// TestAFirstReleaseThatFailsLeavesRoomForTheNext has nothing to fall back to.
func TestAFirstReleaseThatFailsLeavesRoomForTheNext(t *testing.T) {
	t.Parallel()
	b := start(t)
	app := b.app("first")
	out := b.apply(1, site(app, b.web("v1"), quickProbe+"    env: {MODE: exit}\n"))
	t.Log(out.text)
	b.has(out, "failed web: ExitedDuringReadiness", "web: giving up with code 1", "Correct it and apply again")
	if strings.Contains(out.text, "serves") || strings.Contains(out.text, "started again") {
		t.Errorf("nothing serves, but:\n%s", out.text)
	}
	out = b.want(0, "", "status", app)
	t.Log(out.text)
	b.has(out, "failed", "ExitedDuringReadiness")
	b.has(b.want(0, "", "logs", app), "web: giving up with code 1")

	b.apply(0, site(app, b.web("v2"), quickProbe))
	if got := b.get(app+".localhost", "/version"); got != "v2\n" {
		t.Errorf("served by %q", got)
	}
	b.eventually(settleTime, "the failed container is gone", func(context.Context) error {
		if now := b.names(app); len(now) != 1 {
			return fmt.Errorf("%q", now)
		}
		return nil
	})
}
