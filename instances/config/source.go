package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// Source is where the text of a configuration is.
type Source interface {
	// Read returns the text and a tag that is another one when the text is. Any
	// error, that there is no text among them, is a reading that failed.
	Read(ctx context.Context) (data []byte, tag string, err error)
}

// Objects are what a Loader needs of an object store: storage.Storage has it.
type Objects interface {
	Get(ctx context.Context, key string) (data []byte, tag string, err error)
	// PutIfMatch writes when the object's tag is still this one, and with an
	// empty tag when there is no object.
	PutIfMatch(ctx context.Context, key string, data []byte, tag string) (newTag string, err error)
}

// File is a Source that is a file.
type File struct{ path string }

var _ Source = File{}

// NewFile is the file at a path.
func NewFile(path string) File { return File{path} }

// Read implements Source. The tag is the hash of the text.
func (f File) Read(ctx context.Context) (data []byte, tag string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	data, err = io.ReadAll(io.LimitReader(file, MaxBytes+1))
	if err != nil {
		return nil, "", err
	}
	if len(data) > MaxBytes {
		return nil, "", fmt.Errorf("%w: %s has more than %d bytes", ErrInvalid, f.path, MaxBytes)
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), nil
}

// Object is a Source that is an object of a store.
type Object struct {
	objects Objects
	key     string
}

var _ Source = Object{}

// NewObject is the object at a key, such as shard/eu-1a/config.jsonc.
func NewObject(objects Objects, key string) Object { return Object{objects, key} }

// Read implements Source.
func (o Object) Read(ctx context.Context) (data []byte, tag string, err error) {
	return o.objects.Get(ctx, o.key)
}
