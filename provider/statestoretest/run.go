package statestoretest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/provider"
)

// Run runs every case on a store of its own, empty, that open makes and cleans up
// when its test ends.
func Run(t *testing.T, open func(t *testing.T) provider.StateStore) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

type testCase struct {
	name string
	run  func(t *testing.T, s provider.StateStore)
}

var cases = []testCase{
	{"WhatIsPutIsFound", whatIsPutIsFound},
	{"NothingIsNotFound", nothingIsNotFound},
	{"CreateOnlyOnce", createOnlyOnce},
	{"AnOldVersionIsAConflict", anOldVersionIsAConflict},
	{"VersionsDoNotComeAgain", versionsDoNotComeAgain},
	{"DeleteComparesToo", deleteComparesToo},
	{"ListIsSortedAndByPrefix", listIsSortedAndByPrefix},
	{"AKeyAndWhatIsBelowItAreApart", aKeyAndWhatIsBelowItAreApart},
	{"BadKeysAreInvalid", badKeysAreInvalid},
	{"ValuesAreBoundedAndMayBeEmpty", valuesAreBoundedAndMayBeEmpty},
	{"ValuesAreNotShared", valuesAreNotShared},
	{"ACancelledCallHasNoEffect", aCancelledCallHasNoEffect},
	{"ConcurrentSwapsLoseNothing", concurrentSwapsLoseNothing},
	{"ConcurrentCreatesHaveOneWinner", concurrentCreatesHaveOneWinner},
	{"ReadersSeeWholeValues", readersSeeWholeValues},
	{"Model", model},
}

func put(t *testing.T, s provider.StateStore, key, value string, prior provider.Version) provider.Version {
	t.Helper()
	v, err := s.Put(t.Context(), key, []byte(value), prior)
	if err != nil {
		t.Fatalf("Put(%q, %q, %q): %v", key, value, prior, err)
	}
	if v == "" || v == prior {
		t.Fatalf("Put(%q) on %q returned the version %q", key, prior, v)
	}
	return v
}

func wantRecord(t *testing.T, s provider.StateStore, key, value string, version provider.Version) {
	t.Helper()
	got, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get(%q): %v", key, err)
	}
	if string(got.Value) != value || got.Version != version {
		t.Errorf("Get(%q) is %q of %q, want %q of %q", key, got.Value, got.Version, value, version)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func wantKeys(t *testing.T, s provider.StateStore, prefix string, want ...string) {
	t.Helper()
	got, err := s.List(t.Context(), prefix)
	if err != nil {
		t.Fatalf("List(%q): %v", prefix, err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("List(%q) is %q, want %q", prefix, got, want)
	}
}

func whatIsPutIsFound(t *testing.T, s provider.StateStore) {
	first := put(t, s, "instance/a", "one", "")
	wantRecord(t, s, "instance/a", "one", first)
	second := put(t, s, "instance/a", "two", first)
	wantRecord(t, s, "instance/a", "two", second)
	binary := string([]byte{0, '\n', 0xff, '\r'})
	third := put(t, s, "instance/a", binary, second)
	wantRecord(t, s, "instance/a", binary, third)
}

func nothingIsNotFound(t *testing.T, s provider.StateStore) {
	_, err := s.Get(t.Context(), "instance/a")
	wantErr(t, "Get of nothing", err, provider.ErrNotFound)
	wantErr(t, "Delete of nothing", s.Delete(t.Context(), "instance/a", "some"), provider.ErrNotFound)
	wantKeys(t, s, "")
	wantKeys(t, s, "instance/")
}

func createOnlyOnce(t *testing.T, s provider.StateStore) {
	v := put(t, s, "a", "one", "")
	_, err := s.Put(t.Context(), "a", []byte("two"), "")
	wantErr(t, "a second create", err, provider.ErrConflict)
	wantRecord(t, s, "a", "one", v)
}

func anOldVersionIsAConflict(t *testing.T, s provider.StateStore) {
	_, err := s.Put(t.Context(), "a", []byte("x"), "some")
	wantErr(t, "Put on a record that is not there", err, provider.ErrConflict)
	wantKeys(t, s, "")
	first := put(t, s, "a", "one", "")
	second := put(t, s, "a", "two", first)
	_, err = s.Put(t.Context(), "a", []byte("three"), first)
	wantErr(t, "Put on an old version", err, provider.ErrConflict)
	wantRecord(t, s, "a", "two", second)
}

func versionsDoNotComeAgain(t *testing.T, s provider.StateStore) {
	seen := map[provider.Version]bool{}
	for range 3 {
		v := put(t, s, "a", "same", "")
		if seen[v] {
			t.Errorf("version %q came again", v)
		}
		seen[v] = true
		w := put(t, s, "a", "same", v)
		if seen[w] {
			t.Errorf("version %q came again", w)
		}
		seen[w] = true
		if err := s.Delete(t.Context(), "a", w); err != nil {
			t.Fatal(err)
		}
	}
}

func deleteComparesToo(t *testing.T, s provider.StateStore) {
	first := put(t, s, "a/b", "one", "")
	second := put(t, s, "a/b", "two", first)
	for _, v := range []provider.Version{first, ""} {
		wantErr(t, "Delete of another version", s.Delete(t.Context(), "a/b", v), provider.ErrConflict)
	}
	wantRecord(t, s, "a/b", "two", second)
	if err := s.Delete(t.Context(), "a/b", second); err != nil {
		t.Fatal(err)
	}
	_, err := s.Get(t.Context(), "a/b")
	wantErr(t, "Get after Delete", err, provider.ErrNotFound)
	wantKeys(t, s, "")
	third := put(t, s, "a/b", "three", "")
	wantRecord(t, s, "a/b", "three", third)
}

func listIsSortedAndByPrefix(t *testing.T, s provider.StateStore) {
	for _, key := range []string{"b/2", "a-b/1", "b/1", "a/z/1", "a.b", "a/1", "bb/1", "A/1"} {
		put(t, s, key, key, "")
	}
	wantKeys(t, s, "", "A/1", "a-b/1", "a.b", "a/1", "a/z/1", "b/1", "b/2", "bb/1")
	wantKeys(t, s, "a/", "a/1", "a/z/1")
	wantKeys(t, s, "b/", "b/1", "b/2")
	wantKeys(t, s, "c/")
}

func aKeyAndWhatIsBelowItAreApart(t *testing.T, s provider.StateStore) {
	above := put(t, s, "a", "above", "")
	below := put(t, s, "a/b", "below", "")
	wantRecord(t, s, "a", "above", above)
	wantRecord(t, s, "a/b", "below", below)
	wantKeys(t, s, "", "a", "a/b")
	wantKeys(t, s, "a/", "a/b")
	if err := s.Delete(t.Context(), "a", above); err != nil {
		t.Fatal(err)
	}
	wantRecord(t, s, "a/b", "below", below)
}

func badKeysAreInvalid(t *testing.T, s provider.StateStore) {
	bad := []string{"", "/", "/a", "a/", "a//b", "..", "a/../b", ".a", "a.", "a b", "a\x00", "ä", "a@", `a\b`, strings.Repeat("a", provider.MaxKeySegment+1), strings.Repeat("a/", provider.MaxKeyLength)}
	for _, key := range bad {
		_, err := s.Get(t.Context(), key)
		wantErr(t, "Get of "+key, err, provider.ErrInvalid)
		_, err = s.Put(t.Context(), key, nil, "")
		wantErr(t, "Put of "+key, err, provider.ErrInvalid)
		wantErr(t, "Delete of "+key, s.Delete(t.Context(), key, "v"), provider.ErrInvalid)
	}
	for _, prefix := range []string{"a", "/", "../", "a//", "a@/"} {
		_, err := s.List(t.Context(), prefix)
		wantErr(t, "List of "+prefix, err, provider.ErrInvalid)
	}
	long := strings.Repeat("a", provider.MaxKeySegment)
	wantRecord(t, s, long, "x", put(t, s, long, "x", ""))
}

func valuesAreBoundedAndMayBeEmpty(t *testing.T, s provider.StateStore) {
	v := put(t, s, "empty", "", "")
	wantRecord(t, s, "empty", "", v)
	most := bytes.Repeat([]byte{'x'}, provider.MaxRecordSize)
	large, err := s.Put(t.Context(), "large", most, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), "large")
	if err != nil || !bytes.Equal(got.Value, most) || got.Version != large {
		t.Errorf("the largest record did not come back: %d bytes, %v", len(got.Value), err)
	}
	_, err = s.Put(t.Context(), "large", append(most, 'x'), large)
	wantErr(t, "a record above the bound", err, provider.ErrInvalid)
}

func valuesAreNotShared(t *testing.T, s provider.StateStore) {
	value := []byte("one")
	v, err := s.Put(t.Context(), "a", value, "")
	if err != nil {
		t.Fatal(err)
	}
	value[0] = 'X'
	wantRecord(t, s, "a", "one", v)
	got, err := s.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	got.Value[0] = 'X'
	wantRecord(t, s, "a", "one", v)
}

func aCancelledCallHasNoEffect(t *testing.T, s provider.StateStore) {
	v := put(t, s, "a", "one", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Put(ctx, "a", []byte("two"), v)
	wantErr(t, "a cancelled Put", err, context.Canceled)
	wantErr(t, "a cancelled Delete", s.Delete(ctx, "a", v), context.Canceled)
	_, err = s.Get(ctx, "a")
	wantErr(t, "a cancelled Get", err, context.Canceled)
	wantRecord(t, s, "a", "one", v)
	wantRecord(t, s, "a", "two", put(t, s, "a", "two", v))
}
