package engine

import (
	"archive/tar"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
)

func TestTheEnginesWordsAboutASignalBecomeSentinels(t *testing.T) {
	for _, tc := range []struct {
		status  int
		message string
		want    error
	}{
		{409, "Cannot kill container: web: Container 1f2e is not running", docker.ErrNotRunning},
		{500, "Cannot kill container web: Container 1f2e is not running", docker.ErrNotRunning},
		{404, "No such container: web", docker.ErrNotFound},
		{400, "Invalid signal: NOSUCH", docker.ErrInvalid},
	} {
		c := fakeEngine(t, "1.41", func(w http.ResponseWriter, _ *http.Request) { refuse(w, tc.status, tc.message) })
		if err := c.Signal(t.Context(), "web", "HUP"); !errors.Is(err, tc.want) {
			t.Errorf("%q: got %v, want %v", tc.message, err, tc.want)
		}
	}
}

func TestTheEnginesWordsAboutACopyBecomeSentinels(t *testing.T) {
	for _, tc := range []struct {
		status  int
		message string
		want    error
	}{
		{404, "No such container: web", docker.ErrNotFound},
		{404, "Could not find the file /nope in container web", docker.ErrNotFound},
		{403, "container rootfs is marked read-only", docker.ErrInvalid},
		{403, "mounted volume is marked read-only", docker.ErrInvalid},
		{400, "extraction point is not a directory", docker.ErrInvalid},
	} {
		c := fakeEngine(t, "1.41", func(w http.ResponseWriter, _ *http.Request) { refuse(w, tc.status, tc.message) })
		if err := c.CopyInto(t.Context(), "web", "/etc", []docker.File{{Path: "a"}}); !errors.Is(err, tc.want) {
			t.Errorf("%q: got %v, want %v", tc.message, err, tc.want)
		}
	}
}

func TestACopyMakesTheDirectoriesThatAreMissingAlone(t *testing.T) {
	var asked, got []string
	c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			asked = append(asked, r.URL.Query().Get("path"))
			if !strings.HasSuffix(asked[len(asked)-1], "/there") {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("X-Docker-Container-Path-Stat", base64.StdEncoding.EncodeToString([]byte(`{"name":"there"}`)))
			return
		}
		if q := r.URL.Query(); q.Get("path") != "/etc" || q.Get("copyUIDGID") != "" {
			t.Errorf("asked for %v", q)
		}
		for tr := tar.NewReader(r.Body); ; {
			h, err := tr.Next()
			if err != nil {
				return
			}
			data, _ := io.ReadAll(tr)
			got = append(got, fmt.Sprintf("%s %o %d:%d %s", h.Name, h.Mode, h.Uid, h.Gid, data))
		}
	})
	err := c.CopyInto(t.Context(), "web", "/etc", []docker.File{
		{Path: "top", Mode: 0o600, UID: 5, GID: 6, Data: []byte("1")}, {Path: "there/a", Data: []byte("2")},
		{Path: "there/new/b"}, {Path: "there/new/c"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/etc/there", "/etc/there/new"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want each once: %v", asked, want)
	}
	want := []string{"there/new/ 755 0:0 ", "top 600 5:6 1", "there/a 644 0:0 2", "there/new/b 644 0:0 ", "there/new/c 644 0:0 "}
	if !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestASampleIsReadFromEitherVersionOfControlGroups(t *testing.T) {
	const body = `{"read":"2026-03-01T12:00:02.5Z","preread":"2026-03-01T12:00:01.5Z","pids_stats":{"current":3},
		"cpu_stats":{"cpu_usage":{"total_usage":5000000000}},"precpu_stats":{"cpu_usage":{"total_usage":3500000000}},
		"memory_stats":{"usage":1000,"limit":4096,"stats":%s},"networks":{"eth0":{"rx_bytes":1,"tx_bytes":2},"eth1":{"rx_bytes":10,"tx_bytes":20}}}`
	for name, tc := range map[string]struct {
		stats  string
		memory uint64
	}{
		"version 1":             {`{"total_inactive_file":300,"inactive_file":100,"cache":500}`, 700},
		"version 2":             {`{"inactive_file":400,"file":500}`, 600},
		"neither":               {`{}`, 1000},
		"more cache than usage": {`{"inactive_file":1001}`, 1000},
	} {
		c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Get("stream") != "false" || q.Has("one-shot") {
				t.Errorf("asked for %v, want two readings", q)
			}
			fmt.Fprintf(w, body, tc.stats)
		})
		got, err := c.Stats(t.Context(), "web")
		if err != nil {
			t.Fatal(err)
		}
		if got.MemoryBytes != tc.memory || got.MemoryLimitBytes != 4096 || got.CPUNanos != 5e9 || math.Abs(got.CPUPercent-150) > 1e-9 ||
			got.RxBytes != 11 || got.TxBytes != 22 || got.Pids != 3 || got.At.Second() != 2 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestASampleWithoutAPreviousOneHasNoRate(t *testing.T) {
	for _, body := range []string{
		`{"read":"2026-03-01T12:00:02Z","preread":"0001-01-01T00:00:00Z","cpu_stats":{"cpu_usage":{"total_usage":5000000000}}}`,
		`{"read":"2026-03-01T12:00:02Z","preread":"2026-03-01T12:00:02Z","cpu_stats":{"cpu_usage":{"total_usage":5000000000}}}`,
		`{"read":"2026-03-01T12:00:02Z","preread":"2026-03-01T12:00:01Z","cpu_stats":{"cpu_usage":{"total_usage":1}},"precpu_stats":{"cpu_usage":{"total_usage":2}}}`,
	} {
		c := fakeEngine(t, "1.41", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		if got, err := c.Stats(t.Context(), "web"); err != nil || got.CPUPercent != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestWhatDoesNotRunHasNoSample(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   error
	}{
		"an empty sample": {func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"name":"/web","id":"1","read":"0001-01-01T00:00:00Z"}`)
		}, docker.ErrNotRunning},
		"nothing":             {func(http.ResponseWriter) {}, docker.ErrNotRunning},
		"words":               {func(w http.ResponseWriter) { refuse(w, 409, "Container web is not running") }, docker.ErrNotRunning},
		"no container":        {func(w http.ResponseWriter) { refuse(w, 404, "No such container: web") }, docker.ErrNotFound},
		"half a sample":       {func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"name":`) }, docker.ErrUnavailable},
		"an engine that dies": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, docker.ErrUnavailable},
	} {
		c := fakeEngine(t, "1.41", func(w http.ResponseWriter, _ *http.Request) { tc.answer(w) })
		if _, err := c.Stats(t.Context(), "web"); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
	}
}
