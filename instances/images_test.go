package instances_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
)

// shelf is an image finder that a test fills.
type shelf struct {
	images []instances.FoundImage
	err    error
	asked  int
}

func (s *shelf) FindImages(context.Context, map[string][]string, []string) ([]instances.FoundImage, error) {
	s.asked++
	return s.images, s.err
}

const imagesText = `{
  "cluster": {"id": "prod"},
  "shard": {"name": "one", "provider": {"kind": "fake"}, "server": {"registration_addr": "10.0.0.5:8992", "agent_addr": "10.0.0.5:8994"}},
  "images": {
    "fixed": {"id": "img-fixed"},
    "newest": {"filters": {"name": ["debian-*"]}, "fallback": "img-old"},
    "byname": {"filters": {"name": ["x"]}, "sort": "name", "order": "asc"},
  },
}`

func TestAnImageIsWhatWasFoundLastThenCachedThenTheFallback(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	loader, err := config.NewLoader(config.LoaderOptions{Source: textSource(imagesText)})
	must(t, err)
	must(t, loader.Refresh(t.Context()))
	finder := &shelf{err: errors.New("away")}
	open := func() *instances.ImageResolver {
		r, err := instances.NewImageResolver(t.Context(), instances.ImageResolverOptions{ConfigLoader: loader, Finder: finder, Cache: l.db, Clock: w.clock.Now})
		must(t, err)
		return r
	}
	is := func(r *instances.ImageResolver, want map[string]string) {
		t.Helper()
		got := r.GetAll()
		for name, id := range want {
			if got[name] != id {
				t.Errorf("%s is %q, want %q", name, got[name], id)
			}
		}
		if len(got) != len(want) {
			t.Errorf("images %v", got)
		}
	}
	r := open()
	if err := r.Refresh(t.Context()); err == nil {
		t.Fatal("a finder that failed is no failure")
	}
	is(r, map[string]string{"fixed": "img-fixed", "newest": "img-old"})
	day := w.clock.Now()
	finder.err = nil
	finder.images = []instances.FoundImage{{ID: "img-b", Name: "b", CreatedAt: day}, {ID: "img-a", Name: "a", CreatedAt: day.Add(-time.Hour)}}
	must(t, r.Refresh(t.Context()))
	found := map[string]string{"fixed": "img-fixed", "newest": "img-b", "byname": "img-a"}
	is(r, found)
	finder.images = nil
	if err := r.Refresh(t.Context()); err == nil {
		t.Fatal("nothing was found, and nobody hears of it")
	}
	is(r, found)
	asked := finder.asked
	is(open(), found) // a restart
	if finder.asked != asked {
		t.Fatal("GetAll asks the provider")
	}
}
