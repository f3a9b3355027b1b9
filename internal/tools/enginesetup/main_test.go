package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLiveRestoreKeepsWhatTheFileSaid(t *testing.T) {
	for name, c := range map[string]struct{ before, outcome, after string }{
		"no file":        {"", "created", "{\n  \"live-restore\": true\n}\n"},
		"other keys":     {`{"log-driver":"local","default-ulimits":{"n":12345678901234567890}}`, "added", "{\n  \"default-ulimits\": {\n    \"n\": 12345678901234567890\n  },\n  \"live-restore\": true,\n  \"log-driver\": \"local\"\n}\n"},
		"already on":     {`{ "live-restore" : true }`, "present", `{ "live-restore" : true }`},
		"off on purpose": {`{"live-restore":false}`, "off", `{"live-restore":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "docker", "daemon.json")
			if c.before != "" {
				if err := replaceFile(path, []byte(c.before)); err != nil {
					t.Fatal(err)
				}
			}
			outcome, err := ensureLiveRestore(path)
			if err != nil {
				t.Fatal(err)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if outcome != c.outcome || string(after) != c.after {
				t.Errorf("%s, file %q; want %s, file %q", outcome, after, c.outcome, c.after)
			}
		})
	}
}

func TestLiveRestoreRefusesAFileItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.json")
	const broken = `{"log-driver": "local",`
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ensureLiveRestore(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v; want one that names %s", err, path)
	}
	if after, _ := os.ReadFile(path); string(after) != broken {
		t.Errorf("the file was changed to %q", after)
	}
}

func TestPingTellsVersionAndLiveRestore(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/info" {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(`{"ServerVersion":"20.10.24","LiveRestoreEnabled":true,"Swarm":{"LocalNodeState":"inactive"}}`))
	})}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })

	var out strings.Builder
	if err := run([]string{"ping", socket}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "version=20.10.24 live-restore=true swarm=inactive\n"; out.String() != want {
		t.Errorf("ping says %q; want %q", out.String(), want)
	}
}

func TestPingFailsWhereNothingListens(t *testing.T) {
	if err := run([]string{"ping", filepath.Join(t.TempDir(), "none.sock")}, &strings.Builder{}); err == nil {
		t.Error("ping of a socket that is not there succeeds")
	}
}
