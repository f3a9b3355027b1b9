package storagetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/instances/storage"
)

var modelKeys = []string{"a", "b/1", "b/2", "b-3"}

// modelAgrees compares random histories with a map.
func modelAgrees(e *env) {
	round := 0
	rapid.Check(e.T, func(t *rapid.T) {
		round++
		m := &model{e: e, s: storage.Scoped(e.s, fmt.Sprint("round-", round)), data: map[string]string{}, tags: map[string]string{}}
		t.Repeat(map[string]func(*rapid.T){
			"put":      m.put,
			"putIf":    m.putIf,
			"delete":   m.delete,
			"deleteIf": m.deleteIf,
			"":         m.agrees,
		})
	})
}

type model struct {
	e    *env
	s    storage.Storage
	data map[string]string
	tags map[string]string // of the data, as they were told
	old  []string          // all tags ever told
}

func (m *model) key(t *rapid.T) string { return rapid.SampledFrom(modelKeys).Draw(t, "key") }

func (m *model) value(t *rapid.T) string { return rapid.StringMatching(`[ab]{0,3}`).Draw(t, "data") }

func (m *model) tag(t *rapid.T) string {
	return rapid.SampledFrom(append([]string{""}, m.old...)).Draw(t, "tag")
}

func (m *model) wrote(key, data, tag string) {
	m.data[key], m.tags[key] = data, tag
	m.old = append(m.old, tag)
}

func (m *model) put(t *rapid.T) {
	key, data := m.key(t), m.value(t)
	tag, err := m.s.Put(m.e.ctx, key, []byte(data))
	if err != nil || tag == "" {
		t.Fatalf("tag %q, %v", tag, err)
	}
	m.wrote(key, data, tag)
}

func (m *model) putIf(t *rapid.T) {
	key, data, tag := m.key(t), m.value(t), m.tag(t)
	fits := m.tags[key] == tag
	got, err := m.s.PutIfMatch(m.e.ctx, key, []byte(data), tag)
	if fits && err != nil || !fits && !errors.Is(err, storage.ErrPrecondition) {
		t.Fatalf("the tag fits: %v; %v", fits, err)
	}
	if fits {
		m.wrote(key, data, got)
	}
}

func (m *model) delete(t *rapid.T) {
	key := m.key(t)
	if err := m.s.Delete(m.e.ctx, key); err != nil {
		t.Fatal(err)
	}
	delete(m.data, key)
	delete(m.tags, key)
}

func (m *model) deleteIf(t *rapid.T) {
	key, tag := m.key(t), m.tag(t)
	if tag == "" {
		tag = "none"
	}
	_, there := m.data[key]
	fits := !there || m.tags[key] == tag
	err := m.s.DeleteIfMatch(m.e.ctx, key, tag)
	if fits && err != nil || !fits && !errors.Is(err, storage.ErrPrecondition) {
		t.Fatalf("the tag fits: %v; %v", fits, err)
	}
	if fits {
		delete(m.data, key)
		delete(m.tags, key)
	}
}

func (m *model) agrees(t *rapid.T) {
	all, err := m.s.List(m.e.ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, o := range all {
		keys = append(keys, o.Key)
		if o.Tag != m.tags[o.Key] || o.Size != int64(len(m.data[o.Key])) {
			t.Fatalf("listed %+v, want tag %q of %q", o, m.tags[o.Key], m.data[o.Key])
		}
	}
	if want := slices.Sorted(maps.Keys(m.data)); !slices.Equal(keys, want) {
		t.Fatalf("listed %q, want %q", keys, want)
	}
	for _, key := range modelKeys {
		data, tag, err := m.s.Get(m.e.ctx, key)
		if want, there := m.data[key]; there && (err != nil || string(data) != want || tag != m.tags[key]) {
			t.Fatalf("%s: %q, %v; want %q", key, data, err, want)
		} else if !there && !errors.Is(err, storage.ErrNotFound) {
			t.Fatalf("%s: %q, %v; want not found", key, data, err)
		}
	}
}
