package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/ingress/controlclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAWrongCommandLineSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitUsage, "Usage"},
		{[]string{"dance"}, exitUsage, `"dance"`},
		{[]string{"ingress"}, exitUsage, "required"},
		{[]string{"ingress", "--dir", "d", "--http", ":0", "--control", "c", "more"}, exitUsage, `"more"`},
		{[]string{"ingress", "--dir", "d", "--http", ":0", "--control", "c", "--trusted-proxies", "10.0.0.0/99"}, exitUsage, "10.0.0.0/99"},
		{[]string{"ingress", "--log-level", "loud"}, exitUsage, "log-level"},
		{[]string{"ingress", "-h"}, exitOK, "trusted-proxies"},
		{[]string{"agent", "more"}, exitUsage, `"more"`},
		{[]string{"agent", "-h"}, exitOK, "docker"},
	} {
		var out, err bytes.Buffer
		if code := run(t.Context(), c.args, &out, &err); code != c.code || !strings.Contains(err.String(), c.says) {
			t.Errorf("%v: code %d, %q; want %d and %s", c.args, code, err.String(), c.code, c.says)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"version"}, &out, &out); code != exitOK || out.Len() < 2 {
		t.Errorf("version: code %d, %q", code, out.String())
	}
}

func TestEveryFlagIsInTheReference(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/daemons.md")
	if err != nil {
		t.Fatal(err)
	}
	for command, least := range map[string]int{"ingress": 7, "agent": 3} {
		var help bytes.Buffer
		run(t.Context(), []string{command, "-h"}, &help, &help)
		flags := regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(help.String(), -1)
		if len(flags) < least {
			t.Fatalf("%d flags in %s", len(flags), help.String())
		}
		_, ours, _ := strings.Cut(string(page), "## berth-node "+command)
		ours, _, _ = strings.Cut(ours, "\n## ")
		for _, f := range flags {
			if !strings.Contains(ours, "| `--"+f[1]+"` |") {
				t.Errorf("docs/reference/daemons.md does not have --%s of %s", f[1], command)
			}
		}
	}
}

func TestTrustedProxiesAreAddressesOrNetworks(t *testing.T) {
	got, err := parsePrefixes([]string{"10.1.2.3/8", "192.0.2.7", "::1"})
	if err != nil || len(got) != 3 || got[0].String() != "10.0.0.0/8" || got[1].String() != "192.0.2.7/32" || got[2].String() != "::1/128" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTheDataPlaneRunsUntilItIsToldToStop(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "c.sock")
	ctx, cancel := context.WithCancel(t.Context())
	var stderr bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"ingress", "--dir", dir, "--http", "127.0.0.1:0,127.0.0.1:0", "--control", socket, "--log-level", "warn"}, &stderr, &stderr)
	}()
	c := controlclient.New(socket)
	defer c.Close()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		h, err := c.Hello(ctx)
		if err == nil {
			if len(h.Listeners) != 2 {
				t.Errorf("it listens on %v", h.Listeners)
			}
			res, err := http.Get(h.Listeners[1])
			if err != nil || res.StatusCode != http.StatusNotFound {
				t.Errorf("%+v, %v", res, err)
			}
			if err == nil {
				_ = res.Body.Close()
			}
			http.DefaultClient.CloseIdleConnections()
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it does not answer: %v", err)
		}
	}
	cancel()
	if code := <-done; code != exitOK {
		t.Errorf("code %d: %s", code, stderr.String())
	}
}
