package daemon

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/berth-cloud/berth/instances/shard"
)

// bucketOf is an S3 store with the bucket machines.
func bucketOf(t *testing.T, wrap func(http.Handler, *s3mem.Backend) http.Handler) (url string) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("machines"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(wrap(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server(), backend))
	t.Cleanup(server.Close)
	return server.URL
}

// heedful heeds the conditions that gofakes3 does not: that of a PUT of an object that is
// not there, and those of a DELETE.
func heedful(inner http.Handler, backend *s3mem.Backend) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		match := r.Header.Get("If-Match")
		if match == "" {
			inner.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		object, err := backend.HeadObject(name, key)
		switch {
		case err != nil:
			http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
		case r.Method == http.MethodDelete && match != `"`+hex.EncodeToString(object.Hash)+`"`:
			http.Error(w, "<Error><Code>PreconditionFailed</Code></Error>", http.StatusPreconditionFailed)
		default:
			inner.ServeHTTP(w, r)
		}
	})
}

// keepIn has the stand keep its records in a bucket.
func (s *machineStand) keepIn(url, more string) {
	s.Helper()
	file := func(name, text string) string {
		path := filepath.Join(s.cfg.DataDir, name)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			s.Fatal(err)
		}
		return path
	}
	at := fmt.Sprintf(`"storage": {"endpoint": %q, "bucket": "machines", "path_style": true, "prefix": "p", "access_key_file": %q, "secret_key_file": %q, "seal_key_file": %q}, "groups"`,
		url, file("access", "key"), file("secret", "secret"), file("seal", strings.Repeat("0f", 32)))
	text := strings.Replace(machineText, `"groups"`, at, 1)
	s.write(strings.Replace(text, `"name": "one",`, `"name": "one",`+more, 1))
}

// A bucket that would let several lead at once is found out before anything is done.
func TestABucketThatHeedsNoConditionsEndsTheStart(t *testing.T) {
	s := newMachineStand(t)
	s.keepIn(bucketOf(t, func(h http.Handler, _ *s3mem.Backend) http.Handler { return h }), "")
	if _, err := s.open(); err == nil || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "storage") {
		t.Errorf("%v", err)
	}
}

// Servers that share a bucket are one shard: one leads, and when it ends the other goes on
// with its machines.
func TestServersOfOneBucketAreOneShard(t *testing.T) {
	const timing = ` "election": {"interval": "200ms", "idle_interval": "200ms", "timeout": "1s"},`
	url := bucketOf(t, heedful)
	first, second := newMachineStand(t), newMachineStand(t)
	second.cloud = first.cloud
	first.keepIn(url, timing)
	second.keepIn(url, timing)
	one, err := first.open()
	if err != nil {
		t.Fatal(err)
	}
	end := first.run(one)
	ids := func() (all []string) {
		for _, m := range first.cloud.Alive() {
			all = append(all, m.InstanceID)
		}
		return all
	}
	eventually(t, "two machines are there", func() bool { return len(ids()) == 2 })
	before := ids()
	other, err := second.open()
	if err != nil {
		t.Fatal(err)
	}
	second.run(other)
	eventually(t, "the other one knows who leads", func() bool { l, ok := other.shard.Leader(); return ok && !l.Self })
	if _, err := other.shard.Groups(t.Context()); !errors.Is(err, shard.ErrNotLeading) {
		t.Errorf("%v", err)
	}
	// Asked of the one that does not lead, done by the one that does.
	_, wanted, err := other.shard.Create(t.Context(), shard.CreateRequest{Group: "web", OnDemand: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := one.shard.Reload(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "it is there", func() bool { return slices.Contains(ids(), wanted) })
	end()
	eventually(t, "the other one leads, and knows the machines", func() bool {
		all, err := other.shard.Machines(t.Context(), false)
		return err == nil && len(all) == 3
	})
	if now := ids(); len(now) != 3 || !slices.Contains(now, before[0]) || !slices.Contains(now, before[1]) {
		t.Errorf("%v are there, after %v", now, before)
	}
	if n := first.cloud.Calls("CreateInstance"); n != 3 {
		t.Errorf("%d machines were made", n)
	}
}
