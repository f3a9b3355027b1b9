package storage_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/storage"
)

// operations are all of them, on one key.
func operations(ctx context.Context, s storage.Storage) map[string]func() error {
	return map[string]func() error{
		"get":             func() error { _, _, err := s.Get(ctx, "k"); return err },
		"put":             func() error { _, err := s.Put(ctx, "k", []byte("x")); return err },
		"create":          func() error { _, err := s.PutIfMatch(ctx, "k", []byte("x"), ""); return err },
		"put if match":    func() error { _, err := s.PutIfMatch(ctx, "k", []byte("x"), "abc"); return err },
		"delete":          func() error { return s.Delete(ctx, "k") },
		"delete if match": func() error { return s.DeleteIfMatch(ctx, "k", "abc") },
		"exists":          func() error { _, err := s.Exists(ctx, "k"); return err },
		"list":            func() error { _, err := s.List(ctx, ""); return err },
		"metadata":        func() error { _, err := s.GetMetadata(ctx, "k"); return err },
		"get stream":      func() error { _, _, err := s.GetStream(ctx, "k"); return err },
		"put stream":      func() error { _, err := s.PutStream(ctx, "k", strings.NewReader("x"), 1); return err },
	}
}

func allUnavailable(t *testing.T, s storage.Storage) {
	t.Helper()
	for name, call := range operations(t.Context(), s) {
		err := call()
		if !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "X-Amz-Signature") || strings.Contains(err.Error(), "the secret")) {
			t.Errorf("%s tells a signature or the key: %v", name, err)
		}
	}
}

func TestABucketThatIsGoneIsNotEmpty(t *testing.T) {
	b := newBucket(t)
	o := b.options()
	o.Bucket = "never-made"
	allUnavailable(t, openS3(t, o))
}

func TestAStoreThatCannotBeReachedIsUnavailable(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.Server.Close()
	allUnavailable(t, b.open(t))
}

func TestAProxysAnswerIsNotTheStores(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 409, 412, 403, 400, 301, 500} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			b := newBucket(t)
			b.setAnswer(func(w http.ResponseWriter, _ *http.Request) bool {
				http.Error(w, "<html><p>PreconditionFailed NoSuchKey 412 404</html>", status)
				return true
			})
			allUnavailable(t, b.open(t))
		})
	}
}

func TestARefusedRequestIsUnavailable(t *testing.T) {
	b := newBucket(t)
	b.setAnswer(func(w http.ResponseWriter, _ *http.Request) bool {
		refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	allUnavailable(t, b.open(t))
}

func TestAConcurrentRequestIsAFailedPrecondition(t *testing.T) {
	b := newBucket(t)
	s := b.open(t)
	tag, err := s.Put(t.Context(), "k", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	b.setAnswer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead || r.Method == http.MethodGet {
			return false
		}
		refuse(w, http.StatusConflict, "ConditionalRequestConflict")
		return true
	})
	if _, err := s.PutIfMatch(t.Context(), "k", []byte("y"), tag); !errors.Is(err, storage.ErrPrecondition) {
		t.Errorf("put: %v", err)
	}
	if err := s.DeleteIfMatch(t.Context(), "k", tag); !errors.Is(err, storage.ErrPrecondition) {
		t.Errorf("delete: %v", err)
	}
	b.setAnswer(func(w http.ResponseWriter, _ *http.Request) bool {
		refuse(w, http.StatusConflict, "OperationAborted")
		return true
	})
	if _, err := s.PutIfMatch(t.Context(), "k", []byte("y"), tag); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("another conflict: %v", err)
	}
}

// A write that took effect and whose answer is lost must not be sent again: the
// second one would be refused, as if another writer had won.
func TestAWriteIsSentOnce(t *testing.T) {
	b := newBucket(t)
	s := b.open(t)
	var sent atomic.Int64
	b.setAnswer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut && r.Method != http.MethodDelete {
			return false
		}
		sent.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return true
	})
	for name, call := range operations(t.Context(), s) {
		if name != "put" && name != "create" && name != "put if match" && name != "put stream" && name != "delete" && name != "delete if match" {
			continue
		}
		sent.Store(0)
		if err := call(); !errors.Is(err, storage.ErrUnavailable) || sent.Load() != 1 {
			t.Errorf("%s was sent %d times: %v", name, sent.Load(), err)
		}
	}
}

func TestAReadIsSentAgainToABusyStore(t *testing.T) {
	b := newBucket(t)
	s := b.open(t)
	if _, err := s.Put(t.Context(), "k", []byte("x")); err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64
	b.setAnswer(func(w http.ResponseWriter, _ *http.Request) bool {
		if sent.Add(1)%2 == 0 {
			return false
		}
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return true
	})
	if data, _, err := s.Get(t.Context(), "k"); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	if all, err := s.List(t.Context(), ""); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestAStoreThatHangsIsUnavailableInTime(t *testing.T) {
	b := newBucket(t)
	o := b.options()
	o.Timeout = 50 * time.Millisecond
	b.setAnswer(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return true
	})
	allUnavailable(t, openS3(t, o))
}

func TestAnObjectThatStallsIsUnavailable(t *testing.T) {
	b := newBucket(t)
	o := b.options()
	o.Timeout = 50 * time.Millisecond
	s := openS3(t, o)
	b.setAnswer(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("ETag", `"abc"`)
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("some"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	})
	r, _, err := s.GetStream(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); !errors.Is(err, storage.ErrUnavailable) || string(got) != "some" {
		t.Errorf("%q, %v", got, err)
	}
	if _, _, err := s.Get(t.Context(), "k"); !errors.Is(err, storage.ErrUnavailable) {
		t.Error(err)
	}
}

func TestAListCutShortIsAnError(t *testing.T) {
	b := newBucket(t)
	s := b.open(t)
	for i := range 25 {
		if _, err := s.Put(t.Context(), "a/"+string(rune('a'+i)), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for what, fail := range map[string]func(http.ResponseWriter){
		"refused": func(w http.ResponseWriter) { refuse(w, http.StatusForbidden, "AccessDenied") },
		"no list": func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>welcome</html>")) },
		"cut off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "500")
			_, _ = w.Write([]byte("<ListBucketResult><IsTruncated>false</IsTruncated>"))
		},
		"gone": func(w http.ResponseWriter) { refuse(w, http.StatusNotFound, "NoSuchBucket") },
	} {
		b.setAnswer(func(w http.ResponseWriter, r *http.Request) bool {
			if !r.URL.Query().Has("continuation-token") {
				return false
			}
			fail(w)
			return true
		})
		if all, err := s.List(t.Context(), "a/"); !errors.Is(err, storage.ErrUnavailable) || all != nil {
			t.Errorf("%s: %d objects, %v", what, len(all), err)
		}
	}
	// The caller gives up between two pages.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.setAnswer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("continuation-token") {
			cancel()
		}
		return false
	})
	if all, err := s.List(ctx, "a/"); !errors.Is(err, context.Canceled) || all != nil {
		t.Errorf("cancelled: %d objects, %v", len(all), err)
	}
}

func TestForeignObjectsAreLeftOut(t *testing.T) {
	b := newBucket(t)
	s := b.open(t)
	for _, key := range []string{"a/", "a/.DS_Store", "a/x y", "a//k"} {
		if _, err := b.backend.PutObject(bucketName, key, nil, bytes.NewReader(nil), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Put(t.Context(), "a/k", []byte("x")); err != nil {
		t.Fatal(err)
	}
	all, err := s.List(t.Context(), "a")
	if err != nil || len(all) != 1 || all[0].Key != "a/k" {
		t.Errorf("%v, %v", all, err)
	}
}

func TestConditionsOfAStoreAreFoundOut(t *testing.T) {
	b := newBucket(t)
	s := b.open(t)
	if err := s.CheckConditions(t.Context(), "check"); err != nil {
		t.Error(err)
	}
	if there, err := s.Exists(t.Context(), "check"); there || err != nil {
		t.Errorf("left behind: %v, %v", there, err)
	}
	for _, lost := range []struct{ method, header string }{
		{http.MethodPut, "If-None-Match"}, {http.MethodPut, "If-Match"}, {http.MethodDelete, "If-Match"},
	} {
		b.setAnswer(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == lost.method {
				r.Header.Del(lost.header)
			}
			return false
		})
		err := s.CheckConditions(t.Context(), "check")
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), lost.header+" of a "+lost.method) {
			t.Errorf("%v ignored: %v", lost, err)
		}
	}
	b.Server.Close()
	if err := s.CheckConditions(t.Context(), "check"); !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a store that is not there: %v", err)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	good := newBucket(t).options()
	for name, change := range map[string]func(*storage.S3Options){
		"no endpoint":   func(o *storage.S3Options) { o.Endpoint = "" },
		"no scheme":     func(o *storage.S3Options) { o.Endpoint = "s3.example.org:9000" },
		"other scheme":  func(o *storage.S3Options) { o.Endpoint = "ftp://s3.example.org" },
		"a path":        func(o *storage.S3Options) { o.Endpoint += "/machines" },
		"a user":        func(o *storage.S3Options) { o.Endpoint = "https://me:pass@s3.example.org" },
		"no bucket":     func(o *storage.S3Options) { o.Bucket = "" },
		"no key":        func(o *storage.S3Options) { o.AccessKey = "" },
		"large pages":   func(o *storage.S3Options) { o.PageSize = 1001 },
		"negative time": func(o *storage.S3Options) { o.Timeout = -1 },
	} {
		o := good
		change(&o)
		if s, err := storage.NewS3(o); err == nil {
			t.Errorf("%s: %v", name, s)
		} else if strings.Contains(err.Error(), "pass") {
			t.Errorf("%s tells the password: %v", name, err)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	b := newBucket(t)
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	b.setAnswer(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Location", other.URL)
		refuse(w, http.StatusTemporaryRedirect, "TemporaryRedirect")
		return true
	})
	allUnavailable(t, b.open(t))
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

// The store answers before it has read what is sent: what is read from the source
// after the return would be read by two.
func TestASourceIsNotReadAfterTheReturn(t *testing.T) {
	b := newBucket(t)
	s := b.open(t)
	b.setAnswer(func(w http.ResponseWriter, _ *http.Request) bool {
		refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	for range 20 {
		src := &countingReader{}
		if _, err := s.PutStream(t.Context(), "k", src, 64<<20); !errors.Is(err, storage.ErrUnavailable) {
			t.Fatal(err)
		}
		src.reads++ // the race detector tells of a reader beside this
	}
}

type countingReader struct{ reads int }

func (r *countingReader) Read(p []byte) (int, error) {
	r.reads++
	return len(p), nil
}
