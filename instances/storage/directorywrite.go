package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// condition is the tag that an object must have, the empty one being that of
// nothing; nil is a write without one.
type condition *string

// Put implements Storage.
func (d *Directory) Put(ctx context.Context, key string, data []byte) (string, error) {
	if err := beginPut(ctx, "put", key, data); err != nil {
		return "", err
	}
	return d.put(ctx, key, newExactReader(ctx, bytes.NewReader(data), int64(len(data))), nil)
}

// PutIfMatch implements Storage.
func (d *Directory) PutIfMatch(ctx context.Context, key string, data []byte, tag string) (string, error) {
	if err := beginPut(ctx, "put", key, data); err != nil {
		return "", err
	}
	return d.put(ctx, key, newExactReader(ctx, bytes.NewReader(data), int64(len(data))), &tag)
}

// PutStream implements Storage.
func (d *Directory) PutStream(ctx context.Context, key string, r io.Reader, size int64) (string, error) {
	if err := beginStream(ctx, "put", key, size); err != nil {
		return "", err
	}
	return d.put(ctx, key, newExactReader(ctx, r, size), nil)
}

// put writes what it reads beside the objects, durably, and then puts it in its
// place with one rename under the lock.
func (d *Directory) put(ctx context.Context, key string, r *exactReader, was condition) (string, error) {
	temp := path.Join(tempDir, rand.Text())
	tag, err := d.writeTemp(temp, r)
	if err == nil {
		err = d.lock.with(ctx, func() error { return d.place(ctx, key, temp, was) })
	}
	if err == nil {
		return tag, nil
	}
	_ = d.root.Remove(temp) // else the next sweep does
	switch {
	case r.err != nil:
		return "", failed("put", key, r.err)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()),
		errors.Is(err, ErrPrecondition), errors.Is(err, ErrInvalidKey), errors.Is(err, ErrUnavailable):
		return "", failed("put", key, err)
	}
	return "", unavailable("put", key, err)
}

func (d *Directory) writeTemp(name string, r *exactReader) (tag string, err error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), r)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// place puts a file in the place of an object that has the tag. The lock is held.
func (d *Directory) place(ctx context.Context, key, temp string, was condition) error {
	if err := d.present(); err != nil {
		return err
	}
	if was != nil {
		if err := d.match(ctx, key, *was); err != nil {
			return err
		}
	}
	dir := path.Dir(key)
	if err := d.mkdir(dir); err != nil {
		return collision(key, err)
	}
	if err := d.root.Rename(temp, key); err != nil {
		return collision(key, err)
	}
	return d.sync(dir)
}

// collision names the one thing that a directory cannot hold.
func collision(key string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s is above or below another object, which files cannot be", ErrInvalidKey, clip(key))
	}
	return err
}

// match compares an object with a tag, the empty one being that of nothing.
func (d *Directory) match(ctx context.Context, key, tag string) error {
	m, err := d.GetMetadata(ctx, key)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if m.Tag != tag {
		return ErrPrecondition
	}
	return nil
}

// Delete implements Storage.
func (d *Directory) Delete(ctx context.Context, key string) error {
	if err := begin(ctx, "delete", key); err != nil {
		return err
	}
	return d.remove(ctx, key, nil)
}

// DeleteIfMatch implements Storage.
func (d *Directory) DeleteIfMatch(ctx context.Context, key, tag string) error {
	if err := beginMatch(ctx, "delete", key, tag); err != nil {
		return err
	}
	return d.remove(ctx, key, &tag)
}

func (d *Directory) remove(ctx context.Context, key string, tag condition) error {
	err := d.lock.with(ctx, func() error {
		there, err := d.Exists(ctx, key)
		if err != nil || !there {
			return err
		}
		if tag != nil {
			if err := d.match(ctx, key, *tag); err != nil {
				return err
			}
		}
		if err := d.root.Remove(key); err != nil {
			return err
		}
		return d.prune(path.Dir(key))
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()), errors.Is(err, ErrPrecondition), errors.Is(err, ErrUnavailable):
		return failed("delete", key, err)
	}
	return unavailable("delete", key, err)
}

// prune removes a directory and those above it while they are empty, so that
// their names are free for objects, and makes durable what was removed.
func (d *Directory) prune(dir string) error {
	for dir != "." && d.root.Remove(dir) == nil {
		dir = path.Dir(dir)
	}
	return d.sync(dir)
}
