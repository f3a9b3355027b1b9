package storage_test

import (
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/secrets"
)

const bucketName = "machines"

// bucket is a bucket of gofakes3 behind a handler that answers conditional
// requests as Amazon S3 does where gofakes3 does not: a PUT with If-Match of an
// object that is not there is NoSuchKey, and a DELETE minds If-Match.
type bucket struct {
	*httptest.Server
	backend *s3mem.Backend
	fake    http.Handler

	mu sync.Mutex // conditional requests are decided one at a time
	// answer, when set, may answer a request in the store's place.
	answer func(http.ResponseWriter, *http.Request) bool
}

func newBucket(t testing.TB) *bucket {
	t.Helper()
	b := &bucket{backend: s3mem.New()}
	if err := b.backend.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	b.fake = gofakes3.New(b.backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *bucket) options() storage.S3Options {
	return storage.S3Options{
		Endpoint: b.URL, Bucket: bucketName, PathStyle: true,
		AccessKey: "key", SecretKey: secrets.NewSecretString("the secret"),
		Timeout: 30 * time.Second, PageSize: 10,
	}
}

func (b *bucket) open(t testing.TB) *storage.S3 {
	t.Helper()
	return openS3(t, b.options())
}

func openS3(t testing.TB, o storage.S3Options) *storage.S3 {
	t.Helper()
	s, err := storage.NewS3(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func (b *bucket) setAnswer(fn func(http.ResponseWriter, *http.Request) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = fn
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	answer := b.answer
	b.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	match := r.Header.Get("If-Match")
	switch {
	case match == "" || r.Method != http.MethodPut && r.Method != http.MethodDelete:
		// gofakes3 decides If-None-Match under its own lock.
		b.fake.ServeHTTP(w, r)
	case r.Method == http.MethodPut:
		b.putIfMatch(w, r)
	default:
		b.deleteIfMatch(w, r, match)
	}
}

// etag is that of an object, and empty without one.
func (b *bucket) etag(r *http.Request) (string, error) {
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	o, err := b.backend.HeadObject(name, key)
	if gofakes3.HasErrorCode(err, gofakes3.ErrNoSuchKey) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return `"` + hex.EncodeToString(o.Hash) + `"`, o.Contents.Close()
}

func (b *bucket) putIfMatch(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tag, err := b.etag(r)
	switch {
	case err != nil:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case tag == "":
		refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		b.fake.ServeHTTP(w, r)
	}
}

func (b *bucket) deleteIfMatch(w http.ResponseWriter, r *http.Request, match string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tag, err := b.etag(r)
	switch {
	case err != nil:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case tag == "":
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case tag != match:
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	default:
		b.fake.ServeHTTP(w, r)
	}
}

// refuse answers as a store does.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, err := w.Write([]byte(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>` + code + `</Code><Message>no</Message></Error>`))
	if err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		panic(http.ErrAbortHandler)
	}
}
