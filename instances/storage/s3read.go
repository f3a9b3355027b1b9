package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"
)

// Get implements Storage.
func (s *S3) Get(ctx context.Context, key string) ([]byte, string, error) {
	r, m, err := s.open(ctx, "get", key)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	data, err := readBounded(r)
	if errors.Is(err, ErrTooLarge) {
		return nil, "", failed("get", key, err)
	}
	if err != nil {
		return nil, "", err
	}
	return data, m.Tag, nil
}

// GetStream implements Storage.
func (s *S3) GetStream(ctx context.Context, key string) (io.ReadCloser, Metadata, error) {
	return s.open(ctx, "open", key)
}

func (s *S3) open(ctx context.Context, op, key string) (io.ReadCloser, Metadata, error) {
	if err := begin(ctx, op, key); err != nil {
		return nil, Metadata{}, err
	}
	w := newWatch(ctx, s.timeout)
	body, info, _, err := s.reads.GetObject(w, s.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		w.stop()
		return nil, Metadata{}, fault(ctx, op, key, err)
	}
	w.timer.Stop()
	b := &watchedBody{asked: ctx, key: key, body: body, w: w}
	m, err := describe(op, key, info)
	if err != nil {
		return nil, Metadata{}, errors.Join(err, b.Close())
	}
	return b, m, nil
}

func describe(op, key string, info minio.ObjectInfo) (Metadata, error) {
	if info.ETag == "" || info.Size < 0 {
		return Metadata{}, unavailable(op, key, errors.New("the store told no ETag or no size"))
	}
	return Metadata{Key: key, Size: info.Size, Modified: info.LastModified.UTC(), Tag: info.ETag}, nil
}

// GetMetadata implements Storage. The answer to a HEAD has no body that could say
// whether the object or the bucket is missing; an absence is asked for again.
func (s *S3) GetMetadata(ctx context.Context, key string) (Metadata, error) {
	if err := begin(ctx, "describe", key); err != nil {
		return Metadata{}, err
	}
	w := newWatch(ctx, s.timeout)
	defer w.stop()
	info, err := s.reads.StatObject(w, s.bucket, key, minio.StatObjectOptions{})
	if err == nil {
		return describe("describe", key, info)
	}
	if err = fault(ctx, "describe", key, err); !errors.Is(err, ErrNotFound) {
		return Metadata{}, err
	}
	r, m, err := s.open(ctx, "describe", key)
	if err != nil {
		return Metadata{}, err
	}
	_ = r.Close() // it was not read to its end, which is no failure
	return m, nil
}

// Exists implements Storage.
func (s *S3) Exists(ctx context.Context, key string) (bool, error) {
	_, err := s.GetMetadata(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// List implements Storage.
func (s *S3) List(ctx context.Context, prefix string) ([]Metadata, error) {
	if err := beginList(ctx, prefix); err != nil {
		return nil, err
	}
	w := newWatch(ctx, s.timeout)
	defer w.stop()
	owner := false
	o := minio.ListObjectsOptions{Prefix: prefix, Recursive: true, MaxKeys: s.pageSize, FetchOwner: &owner}
	var all []Metadata
	last := ""
	for info := range s.reads.ListObjectsIter(w, s.bucket, o) {
		if info.Err != nil {
			return nil, fault(ctx, "list", prefix, info.Err)
		}
		w.moved()
		if info.Key <= last {
			return nil, unavailable("list", prefix, fmt.Errorf("the store listed %q after %q", clip(info.Key), clip(last)))
		}
		if last = info.Key; CheckKey(info.Key) != nil {
			continue
		}
		m, err := describe("list", info.Key, info)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	// The iteration ends in silence when its context does.
	if w.Err() != nil {
		return nil, fault(ctx, "list", prefix, w.Err())
	}
	return all, nil
}
