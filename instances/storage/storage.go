package storage

import (
	"context"
	"errors"
	"io"
	"time"
)

// The failures a caller can tell apart with errors.Is.
var (
	// ErrNotFound: the store said that there is no object under the key.
	ErrNotFound = errors.New("object not found")
	// ErrPrecondition: the object is not the one that the tag names, or is there
	// when it must not be, or another writer was faster. Nothing was written.
	ErrPrecondition = errors.New("object changed meanwhile")
	// ErrInvalidKey: a key or prefix that CheckKey or CheckPrefix refuses, or
	// that a Directory cannot hold beside another one.
	ErrInvalidKey = errors.New("invalid object key")
	// ErrTooLarge: more than MaxObjectBytes for Put, PutIfMatch and Get, more than
	// MaxStreamBytes for PutStream.
	ErrTooLarge = errors.New("object too large")
	// ErrSize: the reader of PutStream gave fewer or more bytes than were
	// announced. Nothing was written.
	ErrSize = errors.New("stream is not of the announced size")
	// ErrUnavailable: the store failed or could not be asked. A read tells nothing
	// then, least of all that something is absent, and a write has happened or not.
	ErrUnavailable = errors.New("object store unavailable")
)

const (
	// MaxObjectBytes bounds what is held in memory: 16 MiB.
	MaxObjectBytes = 16 << 20
	// MaxStreamBytes bounds a stream: 5 GiB, what a bucket takes at once.
	MaxStreamBytes = 5 << 30
)

// Storage keeps objects by key. Methods are safe for concurrent use, and what one
// returned before another began is seen by it. Every one of them checks the key
// first (ErrInvalidKey), ends with its context, and is ErrUnavailable when the
// store does not do or say what it should. A write that returned outlives a loss
// of power where the medium allows it.
//
// A tag names the content of an object: it is never empty, another one for other
// bytes, as a rule the same for the same bytes, and otherwise opaque. Who has to
// see that an object was changed and changed back writes a version into it.
type Storage interface {
	// Get returns an object and its tag. One that is not there is ErrNotFound.
	Get(ctx context.Context, key string) (data []byte, tag string, err error)
	// Put writes an object, whatever was there, and returns its tag.
	Put(ctx context.Context, key string, data []byte) (tag string, err error)
	// PutIfMatch writes an object if what is there has the tag, and returns the
	// new one. An empty tag means that nothing may be there. Otherwise it is
	// ErrPrecondition: of any number of writers with the same tag and different
	// data, one wins.
	PutIfMatch(ctx context.Context, key string, data []byte, tag string) (newTag string, err error)
	// Delete removes an object. One that is not there succeeds.
	Delete(ctx context.Context, key string) error
	// DeleteIfMatch removes an object if it has the tag, which is not empty; with
	// another one it is ErrPrecondition. One that is not there succeeds.
	DeleteIfMatch(ctx context.Context, key, tag string) error
	// Exists reports whether there is an object.
	Exists(ctx context.Context, key string) (bool, error)
	// List describes the objects whose keys begin with the prefix, in the order of
	// their keys by bytes. It is complete or an error: an object that is there from
	// beginning to end is in it. It is not a picture of one moment. Files and
	// objects under keys that CheckKey refuses are nobody's and left out.
	List(ctx context.Context, prefix string) ([]Metadata, error)
	// GetMetadata describes an object. One that is not there is ErrNotFound.
	GetMetadata(ctx context.Context, key string) (Metadata, error)
	// GetStream opens an object of any size for reading, as it is described. The
	// caller closes it. The end of ctx ends the reading.
	GetStream(ctx context.Context, key string) (io.ReadCloser, Metadata, error)
	// PutStream writes an object of size bytes from r, whatever was there, at once
	// or not at all. A reader of another length is ErrSize; its failure is
	// returned as it is. It is not read any more after the return.
	PutStream(ctx context.Context, key string, r io.Reader, size int64) (tag string, err error)
}

// Metadata describes an object.
type Metadata struct {
	Key string
	// Size is in bytes.
	Size int64
	// Modified is when it was last written, by the clock of the store, in UTC.
	// Buckets keep seconds.
	Modified time.Time
	Tag      string
}
