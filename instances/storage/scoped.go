package storage

import (
	"context"
	"io"
	"strings"
)

// ScopedStorage shows the objects of another Storage whose keys begin with a
// prefix, without it. No key leads out of it.
type ScopedStorage struct {
	inner  Storage
	prefix string // with the slash at its end
}

var _ Storage = (*ScopedStorage)(nil)

// Scoped returns the objects of s below prefix, which is a key without or with a
// slash at its end. Every operation with a prefix that is none is ErrInvalidKey.
func Scoped(s Storage, prefix string) *ScopedStorage {
	return &ScopedStorage{s, strings.TrimSuffix(prefix, "/") + "/"}
}

// in is the inner key. Each half is checked by itself: neither can lend the other
// what it lacks.
func (s *ScopedStorage) in(key string) (string, error) {
	if err := CheckKey(strings.TrimSuffix(s.prefix, "/")); err != nil {
		return "", err
	}
	return s.prefix + key, CheckKey(key)
}

func (s *ScopedStorage) out(m Metadata) Metadata {
	m.Key = strings.TrimPrefix(m.Key, s.prefix)
	return m
}

// Get implements Storage.
func (s *ScopedStorage) Get(ctx context.Context, key string) ([]byte, string, error) {
	inner, err := s.in(key)
	if err != nil {
		return nil, "", err
	}
	return s.inner.Get(ctx, inner)
}

// Put implements Storage.
func (s *ScopedStorage) Put(ctx context.Context, key string, data []byte) (string, error) {
	inner, err := s.in(key)
	if err != nil {
		return "", err
	}
	return s.inner.Put(ctx, inner, data)
}

// PutIfMatch implements Storage.
func (s *ScopedStorage) PutIfMatch(ctx context.Context, key string, data []byte, tag string) (string, error) {
	inner, err := s.in(key)
	if err != nil {
		return "", err
	}
	return s.inner.PutIfMatch(ctx, inner, data, tag)
}

// Delete implements Storage.
func (s *ScopedStorage) Delete(ctx context.Context, key string) error {
	inner, err := s.in(key)
	if err != nil {
		return err
	}
	return s.inner.Delete(ctx, inner)
}

// DeleteIfMatch implements Storage.
func (s *ScopedStorage) DeleteIfMatch(ctx context.Context, key, tag string) error {
	inner, err := s.in(key)
	if err != nil {
		return err
	}
	return s.inner.DeleteIfMatch(ctx, inner, tag)
}

// Exists implements Storage.
func (s *ScopedStorage) Exists(ctx context.Context, key string) (bool, error) {
	inner, err := s.in(key)
	if err != nil {
		return false, err
	}
	return s.inner.Exists(ctx, inner)
}

// List implements Storage.
func (s *ScopedStorage) List(ctx context.Context, prefix string) ([]Metadata, error) {
	if _, err := s.in("any"); err != nil {
		return nil, err
	}
	if err := CheckPrefix(prefix); err != nil {
		return nil, err
	}
	all, err := s.inner.List(ctx, s.prefix+prefix)
	for i := range all {
		all[i] = s.out(all[i])
	}
	return all, err
}

// GetMetadata implements Storage.
func (s *ScopedStorage) GetMetadata(ctx context.Context, key string) (Metadata, error) {
	inner, err := s.in(key)
	if err != nil {
		return Metadata{}, err
	}
	m, err := s.inner.GetMetadata(ctx, inner)
	return s.out(m), err
}

// GetStream implements Storage.
func (s *ScopedStorage) GetStream(ctx context.Context, key string) (io.ReadCloser, Metadata, error) {
	inner, err := s.in(key)
	if err != nil {
		return nil, Metadata{}, err
	}
	r, m, err := s.inner.GetStream(ctx, inner)
	return r, s.out(m), err
}

// PutStream implements Storage.
func (s *ScopedStorage) PutStream(ctx context.Context, key string, r io.Reader, size int64) (string, error) {
	inner, err := s.in(key)
	if err != nil {
		return "", err
	}
	return s.inner.PutStream(ctx, inner, r, size)
}
