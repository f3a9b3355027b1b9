package storage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/berth-cloud/berth/secrets"
)

const (
	defaultRegion  = "us-east-1"
	defaultTimeout = 30 * time.Second
	// readTries is how often a read is sent when the store is busy or the
	// connection breaks. A write is sent once: a second one would find the first
	// and call it another's.
	readTries = 3
	writeTry  = 1
)

// S3Options say where a bucket is and who asks.
type S3Options struct {
	// Endpoint is the URL of the store, as "https://s3.example.org:9000". With
	// http everything but the secret key is sent in clear.
	Endpoint string
	// Region is part of each signature; empty is "us-east-1".
	Region string
	Bucket string
	// AccessKey and SecretKey sign every request.
	AccessKey    string
	SecretKey    secrets.Secret
	SessionToken secrets.Secret
	// PathStyle puts the bucket into the path and not into the host's name.
	PathStyle bool
	// Timeout bounds an operation, of a list each page, and of a stream each
	// wait for bytes. Zero is 30 seconds.
	Timeout time.Duration
	// PageSize is how many objects a list asks for at once, up to 1000; zero
	// leaves it to the store.
	PageSize int
	// Transport sends the requests; nil is one of its own, with the proxy that
	// the process's environment names and the roots of the system.
	Transport http.RoundTripper
}

// S3 is a Storage in a bucket. The store has to honour If-None-Match and If-Match
// of a PUT and If-Match of a DELETE, in one step; CheckConditions finds out. A
// versioned bucket keeps what was overwritten and deleted until a rule of the
// bucket removes it.
//
// A tag is the object's ETag.
type S3 struct {
	bucket   string
	timeout  time.Duration
	pageSize int
	reads    minio.Core
	writes   minio.Core
	// raw sends the one request that minio-go has no call for.
	raw       *http.Client
	transport http.RoundTripper
	closeIdle func()
}

var _ Storage = (*S3)(nil)

// NewS3 returns the objects of a bucket. It asks the store nothing.
func NewS3(o S3Options) (*S3, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path != "" && u.Path != "/" || u.User != nil {
		return nil, errors.New("object store: the endpoint has to be a URL such as https://s3.example.org, without path or user")
	}
	switch {
	case o.Bucket == "":
		return nil, errors.New("object store: no bucket is named")
	case o.AccessKey == "" || o.SecretKey.IsZero():
		return nil, errors.New("object store: access key or secret key is missing")
	case o.PageSize < 0 || o.PageSize > 1000:
		return nil, fmt.Errorf("object store: a page of %d objects, 1 to 1000 are possible", o.PageSize)
	case o.Timeout < 0:
		return nil, fmt.Errorf("object store: a timeout of %s", o.Timeout)
	}
	s := &S3{bucket: o.Bucket, timeout: o.Timeout, pageSize: o.PageSize, closeIdle: func() {}}
	if s.timeout == 0 {
		s.timeout = defaultTimeout
	}
	base := o.Transport
	if base == nil {
		own := newTransport(s.timeout)
		base, s.closeIdle = own, own.CloseIdleConnections
	}
	s.transport = strictTransport{base}
	s.raw = &http.Client{Transport: s.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if s.reads, err = s.client(u, o, readTries); err != nil {
		return nil, err
	}
	s.writes, err = s.client(u, o, writeTry)
	return s, err
}

func (s *S3) client(u *url.URL, o S3Options, tries int) (minio.Core, error) {
	lookup := minio.BucketLookupAuto
	if o.PathStyle {
		lookup = minio.BucketLookupPath
	}
	region := o.Region
	if region == "" {
		region = defaultRegion
	}
	c, err := minio.New(u.Host, &minio.Options{
		Creds:        credentials.NewStaticV4(o.AccessKey, o.SecretKey.RevealString(), o.SessionToken.RevealString()),
		Secure:       u.Scheme == "https",
		Transport:    s.transport,
		Region:       region,
		BucketLookup: lookup,
		MaxRetries:   tries,
	})
	if err != nil {
		return minio.Core{}, fmt.Errorf("object store %s: %w", u.Host, err)
	}
	return minio.Core{Client: c}, nil
}

// Close ends idle connections. What is under way goes on.
func (s *S3) Close() { s.closeIdle() }

// CheckConditions writes, compares and removes the object under key, which nobody
// else uses, to find out whether the store honours conditions: one that ignores
// them lets two writers win. It is errors.ErrUnsupported then.
func (s *S3) CheckConditions(ctx context.Context, key string) error {
	err := s.checkConditions(ctx, key)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	if err := errors.Join(err, s.Delete(ctx, key)); err != nil {
		return fmt.Errorf("check the object store's conditions: %w", err)
	}
	return nil
}

func (s *S3) checkConditions(ctx context.Context, key string) error {
	if err := s.Delete(ctx, key); err != nil {
		return err
	}
	old, err := s.PutIfMatch(ctx, key, []byte("first"), "")
	if err != nil {
		return err
	}
	if _, err := s.PutIfMatch(ctx, key, []byte("second"), ""); !errors.Is(err, ErrPrecondition) {
		return ignored("If-None-Match of a PUT", err)
	}
	newer, err := s.PutIfMatch(ctx, key, []byte("third"), old)
	if err != nil {
		return err
	}
	if _, err := s.PutIfMatch(ctx, key, []byte("fourth"), old); !errors.Is(err, ErrPrecondition) {
		return ignored("If-Match of a PUT", err)
	}
	if err := s.DeleteIfMatch(ctx, key, old); !errors.Is(err, ErrPrecondition) {
		return ignored("If-Match of a DELETE", err)
	}
	return s.DeleteIfMatch(ctx, key, newer)
}

func ignored(what string, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: it ignores %s; use a store that honours conditional requests", errors.ErrUnsupported, what)
}
