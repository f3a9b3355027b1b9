package statestoretest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/provider"
)

// model compares the store with a map over random calls, on keys that nest.
func model(t *testing.T, s provider.StateStore) {
	keys := rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a/d", "b/c", "a.b"})
	rapid.Check(t, func(rt *rapid.T) {
		clear := func() map[string]provider.Record {
			all, err := s.List(t.Context(), "")
			if err != nil {
				rt.Fatal(err)
			}
			for _, key := range all {
				rec, err := s.Get(t.Context(), key)
				if err == nil {
					err = s.Delete(t.Context(), key, rec.Version)
				}
				if err != nil {
					rt.Fatal(err)
				}
			}
			return map[string]provider.Record{}
		}
		m := modelRun{t: t, rt: rt, s: s, want: clear()}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			m.step(keys.Draw(rt, "key"))
		}
	})
}

type modelRun struct {
	t    *testing.T
	rt   *rapid.T
	s    provider.StateStore
	want map[string]provider.Record
}

func (m *modelRun) step(key string) {
	known := m.want[key]
	prior := known.Version
	if rapid.IntRange(0, 4).Draw(m.rt, "stale") == 0 {
		prior = rapid.SampledFrom([]provider.Version{"", "other"}).Draw(m.rt, "prior")
	}
	switch rapid.IntRange(0, 2).Draw(m.rt, "call") {
	case 0:
		value := []byte(rapid.StringN(0, 8, -1).Draw(m.rt, "value"))
		v, err := m.s.Put(m.t.Context(), key, value, prior)
		m.expect("Put", err, prior == known.Version, provider.ErrConflict)
		if err == nil {
			m.want[key] = provider.Record{Value: value, Version: v}
		}
	case 1:
		err := m.s.Delete(m.t.Context(), key, prior)
		if known.Version == "" {
			m.expect("Delete", err, false, provider.ErrNotFound)
		} else {
			m.expect("Delete", err, prior == known.Version, provider.ErrConflict)
		}
		if err == nil {
			delete(m.want, key)
		}
	case 2:
		rec, err := m.s.Get(m.t.Context(), key)
		m.expect("Get", err, known.Version != "", provider.ErrNotFound)
		if err == nil && (string(rec.Value) != string(known.Value) || rec.Version != known.Version) {
			m.rt.Errorf("Get(%q) is %q of %q, want %q of %q", key, rec.Value, rec.Version, known.Value, known.Version)
		}
	}
	for _, prefix := range []string{"", "a/", "a/b/"} {
		m.list(prefix)
	}
}

func (m *modelRun) expect(call string, err error, ok bool, want error) {
	if ok && err != nil || !ok && !errors.Is(err, want) {
		m.rt.Errorf("%s: %v, should it succeed: %v", call, err, ok)
	}
}

func (m *modelRun) list(prefix string) {
	var want []string
	for key := range m.want {
		if strings.HasPrefix(key, prefix) {
			want = append(want, key)
		}
	}
	slices.Sort(want)
	got, err := m.s.List(m.t.Context(), prefix)
	if err != nil || !slices.Equal(got, want) {
		m.rt.Errorf("List(%q) is %q, %v, want %q", prefix, got, err, want)
	}
}
