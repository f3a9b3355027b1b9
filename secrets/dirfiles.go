package secrets

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	tenantName = "tenant.json"
	lockName   = "lock"
	trashName  = ".trash-"
	// maxRowFile bounds a file that is read: base64 takes four bytes for three.
	maxRowFile = MaxSealedBytes/3*4 + 8<<10
)

// write runs fn while nobody else writes.
func (d *Dir) write(ctx context.Context, fn func() error) (err error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	f, err := d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock the directory of secrets: %w", err)
	}
	defer f.Close() // which frees the lock
	if err := lockFile(ctx, f); err != nil {
		return fmt.Errorf("lock the directory of secrets: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fn()
}

// names lists what is in a directory under a prefix; without the directory it
// is empty.
func (d *Dir) names(dir, prefix string) ([]string, error) {
	f, err := d.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(n string) bool { return !strings.HasPrefix(n, prefix) }), nil
}

// versions are those in the directory of a key, in order.
func (d *Dir) versions(dir string) ([]Version, error) {
	names, err := d.names(dir, "")
	if err != nil {
		return nil, fmt.Errorf("list versions of a secret: %w", err)
	}
	var all []Version
	for _, n := range names {
		if v, ok := versionOf(n); ok {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all, nil
}

func versionName(v Version) string { return strconv.FormatInt(int64(v), 10) + ".json" }

func versionOf(name string) (Version, bool) {
	n, err := strconv.ParseInt(strings.TrimSuffix(name, ".json"), 10, 64)
	v := Version(n)
	return v, err == nil && v > 0 && versionName(v) == name
}

// readTenant reads a tenant's file; without it the tenant has a name alone.
func (d *Dir) readTenant(tenant string) (tenantFile, error) {
	t, err := d.readTenantAt(tenantDir(tenant))
	if err == nil && t.Tenant == "" {
		t.Tenant = tenant
	}
	if err == nil && t.Tenant != tenant {
		return tenantFile{}, fmt.Errorf("%w: the file of tenant %s is another's", ErrTampered, tenant)
	}
	return t, err
}

func (d *Dir) readTenantAt(dir string) (t tenantFile, err error) {
	err = d.read(path.Join(dir, tenantName), &t)
	if errors.Is(err, fs.ErrNotExist) {
		return tenantFile{}, nil
	}
	return t, err
}

func (d *Dir) writeTenant(t tenantFile) error {
	return d.replace(tenantDir(t.Tenant), tenantName, t)
}

func (d *Dir) readValue(dir string, v Version) (f valueFile, err error) {
	name := path.Join(dir, versionName(v))
	if err := d.read(name, &f); err != nil {
		return valueFile{}, err
	}
	if f.Version != v || keyDir(Ref{f.Tenant, f.Key}) != dir {
		return valueFile{}, fmt.Errorf("%w: %s holds version %d of %q", ErrTampered, name, f.Version, cut(f.Tenant+"/"+f.Key))
	}
	return f, nil
}

func (d *Dir) writeValue(dir string, f valueFile) error {
	return d.replace(dir, versionName(f.Version), f)
}

// read decodes a file. One that is no JSON of its kind is ErrTampered.
func (d *Dir) read(name string, to any) error {
	f, err := d.root.Open(name)
	if err != nil {
		return fmt.Errorf("read a secret's file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRowFile+1))
	if err != nil {
		return fmt.Errorf("read a secret's file: %w", err)
	}
	if len(text) > maxRowFile || json.Unmarshal(text, to) != nil {
		return fmt.Errorf("%w: %s is of no known form", ErrTampered, name)
	}
	return nil
}

// replace writes a file of a directory, which it makes, whole and durably.
func (d *Dir) replace(dir, name string, v any) error {
	if err := d.mkdir(dir); err != nil {
		return fmt.Errorf("write a secret's file: %w", err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write a secret's file: %w", err)
	}
	temp := path.Join(dir, ".tmp-"+rand.Text())
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write a secret's file: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = d.root.Rename(temp, path.Join(dir, name))
	}
	if err != nil {
		return fmt.Errorf("write a secret's file: %w", errors.Join(err, d.root.Remove(temp)))
	}
	return d.sync(dir)
}

// mkdir makes a directory and those above it, durably.
func (d *Dir) mkdir(dir string) error {
	if dir == "." {
		return nil
	}
	if _, err := d.root.Stat(dir); err == nil {
		return nil
	}
	if err := d.mkdir(path.Dir(dir)); err != nil {
		return err
	}
	if err := d.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.sync(path.Dir(dir))
}

// discard removes a directory: with one durable rename for readers, then its
// files. What a crash leaves of them goes with the next discard.
func (d *Dir) discard(dir string) error {
	if err := d.root.Rename(dir, trashName+rand.Text()); err != nil {
		return fmt.Errorf("delete a secret: %w", err)
	}
	if err := errors.Join(d.sync(path.Dir(dir)), d.sync(".")); err != nil {
		return err
	}
	trash, err := d.names(".", trashName)
	if err != nil {
		return fmt.Errorf("delete a secret: %w", err)
	}
	for _, name := range trash {
		if err := d.root.RemoveAll(name); err != nil {
			return fmt.Errorf("delete a secret: %w", err)
		}
	}
	return nil
}

func (d *Dir) sync(dir string) error {
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
