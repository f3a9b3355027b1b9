package storage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Storage that is gone with its process.
type Memory struct {
	now func() time.Time

	mu      sync.RWMutex
	objects map[string]memoryObject
}

var _ Storage = (*Memory)(nil)

// memoryObject is never changed, only replaced.
type memoryObject struct {
	data     []byte
	tag      string
	modified time.Time
}

// MemoryOption changes how a Memory works.
type MemoryOption func(*Memory)

// WithClock gives the clock for Metadata.Modified; without it, it is time.Now.
func WithClock(now func() time.Time) MemoryOption {
	return func(m *Memory) { m.now = now }
}

// NewMemory returns an empty Storage.
func NewMemory(opts ...MemoryOption) *Memory {
	m := &Memory{now: time.Now, objects: map[string]memoryObject{}}
	for _, set := range opts {
		set(m)
	}
	return m
}

// Get implements Storage.
func (m *Memory) Get(ctx context.Context, key string) ([]byte, string, error) {
	o, err := m.object(ctx, "get", key)
	if err == nil && len(o.data) > MaxObjectBytes {
		err = failed("get", key, fmt.Errorf("%w: %d bytes, open it as a stream", ErrTooLarge, len(o.data)))
	}
	if err != nil {
		return nil, "", err
	}
	return bytes.Clone(o.data), o.tag, nil
}

func (m *Memory) object(ctx context.Context, op, key string) (memoryObject, error) {
	if err := begin(ctx, op, key); err != nil {
		return memoryObject{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	o, ok := m.objects[key]
	if !ok {
		return memoryObject{}, failed(op, key, ErrNotFound)
	}
	return o, nil
}

// Put implements Storage.
func (m *Memory) Put(ctx context.Context, key string, data []byte) (string, error) {
	if err := beginPut(ctx, "put", key, data); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.put(key, bytes.Clone(data)), nil
}

// put keeps data. mu is held.
func (m *Memory) put(key string, data []byte) string {
	o := memoryObject{data, tagOf(data), m.now().UTC()}
	m.objects[key] = o
	return o.tag
}

// PutIfMatch implements Storage.
func (m *Memory) PutIfMatch(ctx context.Context, key string, data []byte, tag string) (string, error) {
	if err := beginPut(ctx, "put", key, data); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects[key].tag != tag {
		return "", failed("put", key, ErrPrecondition)
	}
	return m.put(key, bytes.Clone(data)), nil
}

// Delete implements Storage.
func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := begin(ctx, "delete", key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, key)
	return nil
}

// DeleteIfMatch implements Storage.
func (m *Memory) DeleteIfMatch(ctx context.Context, key, tag string) error {
	if err := beginMatch(ctx, "delete", key, tag); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[key]; ok && o.tag != tag {
		return failed("delete", key, ErrPrecondition)
	}
	delete(m.objects, key)
	return nil
}

// Exists implements Storage.
func (m *Memory) Exists(ctx context.Context, key string) (bool, error) {
	if err := begin(ctx, "look for", key); err != nil {
		return false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, ok := m.objects[key]
	return ok, nil
}

// List implements Storage.
func (m *Memory) List(ctx context.Context, prefix string) ([]Metadata, error) {
	if err := beginList(ctx, prefix); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []Metadata
	for _, key := range slices.Sorted(maps.Keys(m.objects)) {
		if strings.HasPrefix(key, prefix) {
			all = append(all, m.objects[key].describe(key))
		}
	}
	return all, nil
}

func (o memoryObject) describe(key string) Metadata {
	return Metadata{Key: key, Size: int64(len(o.data)), Modified: o.modified, Tag: o.tag}
}

// GetMetadata implements Storage.
func (m *Memory) GetMetadata(ctx context.Context, key string) (Metadata, error) {
	o, err := m.object(ctx, "describe", key)
	if err != nil {
		return Metadata{}, err
	}
	return o.describe(key), nil
}

// GetStream implements Storage.
func (m *Memory) GetStream(ctx context.Context, key string) (io.ReadCloser, Metadata, error) {
	o, err := m.object(ctx, "open", key)
	if err != nil {
		return nil, Metadata{}, err
	}
	return &stream{ctx: ctx, r: bytes.NewReader(o.data), close: func() error { return nil }}, o.describe(key), nil
}

// PutStream implements Storage.
func (m *Memory) PutStream(ctx context.Context, key string, r io.Reader, size int64) (string, error) {
	if err := beginStream(ctx, "put", key, size); err != nil {
		return "", err
	}
	data, err := io.ReadAll(newExactReader(ctx, r, size))
	if err != nil {
		return "", failed("put", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.put(key, data), nil
}
