package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

// healTime is how long a data plane that could not start may take once it can.
const healTime = 20 * time.Second

func TestATakenDataPlanePortIsSaidAndHeals(t *testing.T) {
	var lc net.ListenConfig
	squatter, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = squatter.Close() }()
	b := prepare(t, listenOn(squatter.Addr().String()))
	b.startServer()

	b.eventually(startTimeout, "doctor says that the port is taken", func(context.Context) error {
		if out := b.run("", "doctor"); out.code != 1 {
			return fmt.Errorf("exit code %d: %s", out.code, out.text)
		}
		return nil
	})
	b.eventually(startTimeout, "the data plane's trouble is known", func(ctx context.Context) error {
		for _, c := range must(b.api.Doctor(ctx)).Checks {
			if c.Name == "data plane" && c.Message != "it has not answered yet" {
				return nil
			}
		}
		return errors.New("it is not")
	})
	out := b.want(1, "", "doctor")
	t.Log(out.text)
	b.has(out, "data plane", squatter.Addr().String(), "address already in use", "--ingress-http")
	app := b.app("late")
	out = b.want(0, "", "status")
	t.Log(out.text)
	b.has(out, "The data plane does not serve", "berth doctor")

	out = b.apply(0, site(app, b.web("v1"), quickProbe), "--detach")
	b.has(out, "the change waits for it")
	b.eventually(startTimeout, "the new service waits for the data plane", func(context.Context) error {
		for _, c := range b.status(app).Services[0].Conditions {
			if c.Reason == "CutoverPending" {
				return nil
			}
		}
		return fmt.Errorf("%+v", b.status(app).Services[0].Conditions)
	})
	out = b.want(0, "", "status", app)
	t.Log(out.text)
	b.has(out, "CutoverPending", "data plane")

	if err := squatter.Close(); err != nil {
		t.Fatal(err)
	}
	b.eventually(healTime, "the data plane serves", func(ctx context.Context) error {
		b.addr = squatter.Addr().String()
		code, body, err := b.request(ctx, http.MethodGet, app+".localhost", "/version", "")
		if err != nil || code != http.StatusOK {
			return fmt.Errorf("%d %s %w", code, body, err)
		}
		return nil
	})
	out = b.want(0, "", "status", app, "-f")
	b.has(b.want(0, "", "status", app), "ready")
	for _, c := range must(b.api.Doctor(t.Context())).Checks {
		if c.Name == "data plane" && c.State != "ok" {
			t.Errorf("doctor after it healed: %+v", c)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestASecondDaemonOnOneDataDirectoryIsRefused(t *testing.T) {
	b := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	cmd := b.serverCmd(ctx)
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v, want exit code 1", err)
	}
	t.Logf("%s", out)
	b.has(output{text: string(out)}, b.dataDir(), fmt.Sprintf("process %d ", b.server.Process.Pid), "another data directory")
	b.want(0, "", "status") // the first one and its socket are unharmed
}
