package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/storage"
)

// patience bounds each test of the suite.
const patience = 2 * time.Minute

// Conforms runs every test of the suite, each on an empty Storage that open makes
// and ends with its test.
func Conforms(t *testing.T, open func(t testing.TB) storage.Storage) {
	for _, tc := range []struct {
		name string
		run  func(*env)
	}{
		{"WhatIsPutIsReadBack", putIsReadBack},
		{"AnyBytesAreAnObject", anyBytes},
		{"TheDataIsTheCallers", dataIsTheCallers},
		{"MissingIsNotFound", missing},
		{"DeleteOfNothingSucceeds", deleteNothing},
		{"DeletedIsGone", deleted},
		{"TagsFollowTheContent", tagsFollow},
		{"LargeObjectsAreBounded", largeObjects},
		{"MetadataDescribes", metadata},
		{"EndedContextIsRefused", endedContext},

		{"AnEmptyTagMeansNothingIsThere", emptyTag},
		{"AnOldTagIsRefused", oldTag},
		{"ATagOfNothingIsRefused", tagOfNothing},
		{"DeletionsCompareTags", deleteIfMatch},
		{"OfManyCreatorsOneWins", oneCreator},
		{"OfManyWritersOneWins", oneWriter},
		{"ACounterLosesNoCount", counter},
		{"DeletionAndWriteAreApart", deleteAgainstWrite},

		{"ListIsInTheOrderOfKeys", listOrder},
		{"ListHasManyPages", listPages},
		{"ListBeginsWithThePrefix", listPrefix},
		{"ListOfNothingIsEmpty", listNothing},
		{"ListHoldsWhatIsWrittenMeanwhile", listMeanwhile},

		{"StreamsRoundTrip", streams},
		{"StreamsOfAnotherSizeAreRefused", streamSizes},
		{"AFailingStreamChangesNothing", streamFails},
		{"AnOpenStreamStays", streamStays},
		{"AStreamEndsWithItsContext", streamContext},

		{"TricksWithPathsAreRefused", badKeys},
		{"KeysAreApart", keysApart},
		{"BadPrefixesAreRefused", badPrefixes},
		{"DeletedFoldersLeaveNoTrace", folders},
		{"ModelAgrees", modelAgrees},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			tc.run(&env{T: t, ctx: ctx, s: open(t)})
		})
	}
}

type env struct {
	*testing.T
	ctx context.Context
	s   storage.Storage
}

func (e *env) put(key, data string) string {
	e.Helper()
	tag, err := e.s.Put(e.ctx, key, []byte(data))
	if err != nil || tag == "" {
		e.Fatalf("put %s: tag %q, %v", key, tag, err)
	}
	return tag
}

func (e *env) holds(key, data string) string {
	e.Helper()
	got, tag, err := e.s.Get(e.ctx, key)
	if err != nil || string(got) != data || tag == "" {
		e.Errorf("get %s: %.40q with tag %q, %v; want %.40q", key, got, tag, err, data)
	}
	if there, err := e.s.Exists(e.ctx, key); err != nil || !there {
		e.Errorf("exists %s: %v, %v", key, there, err)
	}
	return tag
}

func (e *env) gone(key string) {
	e.Helper()
	if data, tag, err := e.s.Get(e.ctx, key); !errors.Is(err, storage.ErrNotFound) || len(data) > 0 || tag != "" {
		e.Errorf("get %s: %d bytes, tag %q, %v; want not found", key, len(data), tag, err)
	}
	if there, err := e.s.Exists(e.ctx, key); err != nil || there {
		e.Errorf("exists %s: %v, %v", key, there, err)
	}
	if m, err := e.s.GetMetadata(e.ctx, key); !errors.Is(err, storage.ErrNotFound) {
		e.Errorf("metadata of %s: %v, %v; want not found", key, m, err)
	}
	if r, _, err := e.s.GetStream(e.ctx, key); !errors.Is(err, storage.ErrNotFound) {
		e.Errorf("stream of %s: %v, %v; want not found", key, r, err)
	}
}

func (e *env) keys(prefix string) []string {
	e.Helper()
	all, err := e.s.List(e.ctx, prefix)
	if err != nil {
		e.Fatalf("list %q: %v", prefix, err)
	}
	var keys []string
	for _, m := range all {
		keys = append(keys, m.Key)
	}
	return keys
}

func (e *env) lists(prefix string, want ...string) {
	e.Helper()
	if got := e.keys(prefix); !slices.Equal(got, want) {
		e.Errorf("list %q: %q, want %q", prefix, got, want)
	}
}

func putIsReadBack(e *env) {
	first := e.put("instance/acme.one.json", "first")
	if tag := e.holds("instance/acme.one.json", "first"); tag != first {
		e.Errorf("read tag %q, written %q", tag, first)
	}
	e.put("instance/acme.one.json", "second")
	e.holds("instance/acme.one.json", "second")
	e.gone("instance/acme.two.json")
}

func anyBytes(e *env) {
	var all bytes.Buffer
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	for i, data := range []string{"", "\x00", "\r\n", " ", all.String(), `{"a":"$(id)"}`} {
		key := fmt.Sprint("any/", i)
		e.put(key, data)
		e.holds(key, data)
	}
}

func dataIsTheCallers(e *env) {
	data := []byte("mine")
	if _, err := e.s.Put(e.ctx, "k", data); err != nil {
		e.Fatal(err)
	}
	copy(data, "XXXX")
	got, _, err := e.s.Get(e.ctx, "k")
	if err != nil || string(got) != "mine" {
		e.Fatalf("%q, %v", got, err)
	}
	copy(got, "YYYY")
	e.holds("k", "mine")
}

func missing(e *env) {
	e.gone("k")
	e.gone("a/b/c")
	e.put("a/b", "an object, and no folder")
	e.gone("a/b/c")
	e.gone("a")
}

func deleteNothing(e *env) {
	for _, key := range []string{"k", "a/b/c"} {
		if err := e.s.Delete(e.ctx, key); err != nil {
			e.Errorf("delete %s: %v", key, err)
		}
	}
}

func deleted(e *env) {
	e.put("a/one", "1")
	e.put("a/two", "2")
	if err := e.s.Delete(e.ctx, "a/one"); err != nil {
		e.Fatal(err)
	}
	e.gone("a/one")
	e.holds("a/two", "2")
	e.lists("", "a/two")
	e.put("a/one", "again")
	e.holds("a/one", "again")
}

func tagsFollow(e *env) {
	a, b := e.put("k", "a"), e.put("k", "b")
	if a == b {
		e.Errorf("one tag %q for two contents", a)
	}
	if m, err := e.s.GetMetadata(e.ctx, "k"); err != nil || m.Tag != b {
		e.Errorf("metadata has tag %q, %v; want %q", m.Tag, err, b)
	}
	if all, err := e.s.List(e.ctx, ""); err != nil || len(all) != 1 || all[0].Tag != b {
		e.Errorf("list has %v, %v; want tag %q", all, err, b)
	}
}

func largeObjects(e *env) {
	data := make([]byte, storage.MaxObjectBytes+1)
	if _, err := e.s.Put(e.ctx, "k", data); !errors.Is(err, storage.ErrTooLarge) {
		e.Errorf("put: %v", err)
	}
	if _, err := e.s.PutIfMatch(e.ctx, "k", data, ""); !errors.Is(err, storage.ErrTooLarge) {
		e.Errorf("put if match: %v", err)
	}
	e.gone("k")
	e.put("k", string(data[1:]))
	if m, err := e.s.GetMetadata(e.ctx, "k"); err != nil || m.Size != storage.MaxObjectBytes {
		e.Errorf("%v, %v", m, err)
	}
	if _, err := e.s.PutStream(e.ctx, "k", bytes.NewReader(data), int64(len(data))); err != nil {
		e.Fatal(err)
	}
	if _, _, err := e.s.Get(e.ctx, "k"); !errors.Is(err, storage.ErrTooLarge) {
		e.Errorf("get of a large object: %v", err)
	}
}

func metadata(e *env) {
	tag := e.put("a/k", "twelve bytes")
	m, err := e.s.GetMetadata(e.ctx, "a/k")
	if err != nil || m.Key != "a/k" || m.Size != 12 || m.Tag != tag {
		e.Errorf("%+v, %v", m, err)
	}
	if m.Modified.IsZero() || m.Modified.Location() != time.UTC {
		e.Errorf("modified %v", m.Modified)
	}
	all, err := e.s.List(e.ctx, "a/")
	if err != nil || len(all) != 1 || all[0].Key != m.Key || all[0].Size != m.Size || all[0].Tag != m.Tag ||
		all[0].Modified.Truncate(time.Second) != m.Modified.Truncate(time.Second) {
		e.Errorf("listed as %+v, %v; want %+v", all, err, m)
	}
}

func endedContext(e *env) {
	tag := e.put("k", "value")
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	for name, call := range map[string]func() error{
		"get":             func() error { _, _, err := e.s.Get(ctx, "k"); return err },
		"get of nothing":  func() error { _, _, err := e.s.Get(ctx, "none"); return err },
		"put":             func() error { _, err := e.s.Put(ctx, "k", []byte("other")); return err },
		"put if match":    func() error { _, err := e.s.PutIfMatch(ctx, "k", []byte("other"), tag); return err },
		"delete":          func() error { return e.s.Delete(ctx, "k") },
		"delete if match": func() error { return e.s.DeleteIfMatch(ctx, "k", tag) },
		"exists":          func() error { _, err := e.s.Exists(ctx, "k"); return err },
		"list":            func() error { _, err := e.s.List(ctx, ""); return err },
		"metadata":        func() error { _, err := e.s.GetMetadata(ctx, "k"); return err },
		"get stream":      func() error { _, _, err := e.s.GetStream(ctx, "k"); return err },
		"put stream": func() error {
			_, err := e.s.PutStream(ctx, "k", bytes.NewReader([]byte("other")), 5)
			return err
		},
	} {
		if err := call(); !errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrNotFound) {
			e.Errorf("%s: %v", name, err)
		}
	}
	e.holds("k", "value")
}
