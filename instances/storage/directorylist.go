package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// List implements Storage. Names are collected while nobody writes, since a file
// that is replaced meanwhile may be missed; tags are read after that.
func (d *Directory) List(ctx context.Context, prefix string) ([]Metadata, error) {
	if err := beginList(ctx, prefix); err != nil {
		return nil, err
	}
	var keys []string
	err := d.lock.with(ctx, func() (err error) {
		keys, err = d.keys(ctx, prefix)
		return errors.Join(err, d.present())
	})
	if err != nil {
		return nil, d.readError(ctx, "list", prefix, err)
	}
	// A folder sorts by its name, a key by all of it: "a-b" is before "a/b".
	slices.Sort(keys)
	var all []Metadata
	for _, key := range keys {
		m, err := d.GetMetadata(ctx, key)
		if errors.Is(err, ErrNotFound) {
			continue // deleted since
		}
		if err != nil {
			return nil, failed("list", prefix, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// keys are those with a prefix, in no order.
func (d *Directory) keys(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	top := "."
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		top = prefix[:i]
	}
	err := fs.WalkDir(d.root.FS(), top, func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if name == top && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		if name == "." {
			return nil
		}
		// A folder on the way to the prefix, or below it.
		wanted := strings.HasPrefix(name, prefix) || e.IsDir() && strings.HasPrefix(prefix, name+"/")
		switch {
		case !wanted || CheckKey(name) != nil:
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.Type().IsRegular():
			keys = append(keys, name)
		}
		return nil
	})
	return keys, err
}

// names lists a folder.
func (d *Directory) names(dir string) ([]string, error) {
	f, err := d.root.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// mkdir makes a folder and those above it, durably.
func (d *Directory) mkdir(dir string) error {
	if dir == "." {
		return nil
	}
	if info, err := d.root.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := d.mkdir(path.Dir(dir)); err != nil {
		return err
	}
	if err := d.root.Mkdir(dir, dirMode); err != nil {
		// Another process may have opened the directory at the same time; a link
		// that leads out of it is there as well.
		if info, is := d.root.Stat(dir); is != nil {
			return is
		} else if !info.IsDir() {
			return err
		}
	}
	return d.sync(path.Dir(dir))
}

// sync makes the names in a folder durable.
func (d *Directory) sync(dir string) error {
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// tagOfFile reads a file to its end.
func tagOfFile(ctx context.Context, f *os.File) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, &stream{ctx: ctx, r: f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
