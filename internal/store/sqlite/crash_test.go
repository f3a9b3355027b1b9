package sqlite

import (
	"fmt"
	"strings"
	"testing"
)

const (
	crashes        = 4
	linesPerKill   = 300
	linesPerKillUp = 97 // more at each kill, so that they fall at other moments
)

// acknowledged is what children were told is durable.
type acknowledged struct {
	attempts map[int64][2]string // service and image
	releases map[string]int64    // attempt
	active   map[string]int64    // newest version a service was told
	newest   int64
}

func (a *acknowledged) add(t *testing.T, line string) {
	t.Helper()
	var kind, name, rest string
	var n int64
	if _, err := fmt.Sscan(line, &kind, &n, &name, &rest); err != nil {
		t.Fatalf("the child says %q", line)
	}
	switch kind {
	case "attempt":
		a.attempts[n] = [2]string{name, rest}
	case "release":
		a.releases[name] = n
	case "active":
		a.active[name] = max(a.active[name], n)
		a.newest = max(a.newest, n)
	default:
		t.Fatalf("the child says %q", line)
	}
}

func TestEverythingAcknowledgedSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	acked := &acknowledged{attempts: map[int64][2]string{}, releases: map[string]int64{}, active: map[string]int64{}}
	for i := range crashes {
		c := startChild(t, "write", dir)
		for range linesPerKill + i*linesPerKillUp {
			acked.add(t, c.next(t))
		}
		rest := c.kill(t)
		for j, line := range rest {
			if j == len(rest)-1 && len(strings.Fields(line)) < 4 {
				continue // torn by the kill
			}
			acked.add(t, line)
		}
		s, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatalf("after kill %d: %v", i+1, err)
		}
		acked.check(t, s)
		checkIntegrity(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d attempts, %d releases, version %d after %d kills", len(acked.attempts), len(acked.releases), acked.newest, crashes)
}

func (a *acknowledged) check(t *testing.T, s *Store) {
	t.Helper()
	for id, want := range a.attempts {
		got, err := s.GetAttempt(t.Context(), id)
		if err != nil || len(got.Services) != 1 || got.Services[0].Service != want[0] {
			t.Errorf("attempt %d of %s: %+v, %v", id, want[0], got, err)
			continue
		}
		d, err := s.GetDesiredService(t.Context(), want[0])
		if err != nil || d.AttemptID < id || (d.AttemptID == id && d.Image != want[1]) {
			t.Errorf("service %s of attempt %d: %+v, %v", want[0], id, d, err)
		}
	}
	for id, attempt := range a.releases {
		if r, err := s.GetRelease(t.Context(), id); err != nil || r.AttemptID != attempt {
			t.Errorf("release %s: %+v, %v", id, r, err)
		}
	}
	for name, version := range a.active {
		if r, err := s.GetActiveRelease(t.Context(), name); err != nil || r.Version < version {
			t.Errorf("active release of %s is at %d, told %d (%v)", name, r.Version, version, err)
		}
	}
	if r, err := s.Routes(t.Context()); err != nil || r.Version < a.newest {
		t.Errorf("route version is %d, told %d (%v)", r.Version, a.newest, err)
	}
}

// checkIntegrity looks for half a change: each attempt of the children has one
// service, and all but the newest of a service are final.
func checkIntegrity(t *testing.T, s *Store) {
	t.Helper()
	for _, text := range []string{
		`SELECT count(*) FROM attempts WHERE id NOT IN (SELECT attempt_id FROM attempt_services)`,
		`SELECT count(*) FROM services WHERE attempt_id NOT IN (SELECT id FROM attempts)`,
		`SELECT count(*) FROM (SELECT 1 FROM attempt_services WHERE state = 'queued' GROUP BY service HAVING count(*) > 1)`,
		`SELECT count(*) FROM active_releases WHERE release_id NOT IN (SELECT id FROM releases)`,
		`SELECT count(*) FROM pragma_foreign_key_check`,
	} {
		if n, _, err := one(t.Context(), s, scanAs[int64], text); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	if v, _, err := one(t.Context(), s, scanAs[string], `PRAGMA integrity_check`); err != nil || v != "ok" {
		t.Errorf("integrity: %s, %v", v, err)
	}
}

func TestKilledHolderLeavesNoLock(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "hold", dir)
	if line := c.next(t); line != "holding" {
		t.Fatal(line)
	}
	_, err := Open(t.Context(), Options{Dir: dir})
	wantLocked(t, err, dir, fmt.Sprintf("process %d since 2", c.Process.Pid))
	c.kill(t)
	s, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
}
