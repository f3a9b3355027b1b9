package storetest

import (
	"errors"
	"slices"

	"github.com/berth-cloud/berth/internal/store"
)

func recordTests() []test {
	return []test{
		{"AValueIsFoundUnderItsVersion", recordIsFound},
		{"AnOldVersionIsAConflict", recordConflict},
		{"AVersionNeverComesAgain", recordVersions},
		{"KeysAreListedByPrefixInOrder", recordList},
	}
}

func (e *env) putRecord(key, value string, prior int64) int64 {
	e.Helper()
	v, err := e.s.PutRecord(e.ctx, key, []byte(value), prior)
	if err != nil {
		e.Fatalf("put %s: %v", key, err)
	}
	return v
}

func recordIsFound(e *env) {
	for _, value := range []string{"one", "", "\x00\xff"} {
		_, prior, err := e.s.GetRecord(e.ctx, "a/b")
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			e.Fatal(err)
		}
		version := e.putRecord("a/b", value, prior)
		got, at, err := e.s.GetRecord(e.ctx, "a/b")
		if err != nil || string(got) != value || at != version || at == 0 {
			e.Errorf("got %q at %d, %v; put %q at %d", got, at, err, value, version)
		}
	}
}

func recordConflict(e *env) {
	first := e.putRecord("k", "1", 0)
	second := e.putRecord("k", "2", first)
	for _, prior := range []int64{0, first, second + 1} {
		if _, err := e.s.PutRecord(e.ctx, "k", []byte("3"), prior); !errors.Is(err, store.ErrConflict) {
			e.Errorf("put on %d: %v", prior, err)
		}
		if err := e.s.DeleteRecord(e.ctx, "k", prior); !errors.Is(err, store.ErrConflict) {
			e.Errorf("delete of %d: %v", prior, err)
		}
	}
	if _, err := e.s.PutRecord(e.ctx, "none", nil, first); !errors.Is(err, store.ErrConflict) {
		e.Errorf("put on a record that is not there: %v", err)
	}
	if err := e.s.DeleteRecord(e.ctx, "none", 0); !errors.Is(err, store.ErrNotFound) {
		e.Errorf("delete of none: %v", err)
	}
	if got, at, err := e.s.GetRecord(e.ctx, "k"); string(got) != "2" || at != second || err != nil {
		e.Errorf("%q at %d, %v", got, at, err)
	}
}

func recordVersions(e *env) {
	seen := map[int64]bool{}
	for range 3 {
		v := e.putRecord("k", "same", 0)
		if seen[v] {
			e.Fatalf("version %d came again", v)
		}
		seen[v] = true
		if err := e.s.DeleteRecord(e.ctx, "k", v); err != nil {
			e.Fatal(err)
		}
	}
}

func recordList(e *env) {
	for _, k := range []string{"w/b", "w/a", "w", "wx/a", "W/a", "v/é"} {
		e.putRecord(k, k, 0)
	}
	for prefix, want := range map[string][]string{
		"": {"W/a", "v/é", "w", "w/a", "w/b", "wx/a"}, "w/": {"w/a", "w/b"}, "v/": {"v/é"}, "none/": nil,
	} {
		got, err := e.s.ListRecords(e.ctx, prefix)
		if err != nil || !slices.Equal(got, want) {
			e.Errorf("prefix %q: %v, %v; want %v", prefix, got, err, want)
		}
	}
}
