package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/store/sqlite"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/secrets"
)

func openVault(t *testing.T) *vault {
	t.Helper()
	dir := t.TempDir()
	st, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg := Config{DataDir: dir}
	return &vault{blobs: st.Secrets(), file: cfg.keyFile()}
}

var token = secrets.Ref{Tenant: "default", Key: "shop/TOKEN"}

func TestTheKeyIsMadeWithTheFirstSecretAndNotBefore(t *testing.T) {
	v := openVault(t)
	if _, _, err := v.Get(t.Context(), token, 0); !errors.Is(err, secrets.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if list, err := v.List(t.Context(), "default"); err != nil || len(list) != 0 {
		t.Errorf("list: %v, %v", list, err)
	}
	if err := v.Delete(t.Context(), token); err != nil {
		t.Errorf("delete: %v", err)
	}
	if c := v.check(t.Context()); c[0].State != wire.CheckOK {
		t.Errorf("check: %+v", c)
	}
	if _, err := os.Stat(v.file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key was made: %v", err)
	}
	if _, err := v.Put(t.Context(), token, secrets.NewSecretString("x")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(v.file)
	if err != nil || info.Mode().Perm() != 0o600 || filepath.Base(v.file) != "secrets.key" {
		t.Errorf("%s: %v, %v", v.file, info, err)
	}
	if got, _, err := v.Get(t.Context(), token, 0); err != nil || got.RevealString() != "x" {
		t.Errorf("get: %v", err)
	}
	read := appSecrets{v}
	if n, err := read.SecretVersion(t.Context(), token.Key); n != 1 || err != nil {
		t.Errorf("version %d, %v", n, err)
	}
	if n, err := read.SecretVersion(t.Context(), "shop/OTHER"); n != 0 || err != nil {
		t.Errorf("of one that is not kept: version %d, %v", n, err)
	}
	if got, err := read.SecretValue(t.Context(), token.Key, 1); err != nil || got.RevealString() != "x" {
		t.Errorf("value: %v", err)
	}
	if c := v.check(t.Context()); c[0].State != wire.CheckOK || !strings.Contains(c[0].Message, v.file) {
		t.Errorf("check: %+v", c)
	}
}

func TestDoctorSaysWhatIsWrongWithTheKeyAndItsReturnMendsIt(t *testing.T) {
	for name, spoil := range map[string]struct {
		do  func(file string) error
		fix string
	}{
		"lost":    {os.Remove, "back from a copy"},
		"open":    {func(file string) error { return os.Chmod(file, 0o644) }, "mode 0600"},
		"another": {anotherKey, "belongs to this data directory"},
	} {
		v := openVault(t)
		if _, err := v.Put(t.Context(), token, secrets.NewSecretString("x")); err != nil {
			t.Fatal(err)
		}
		kept := v.file + ".kept"
		if err := os.Link(v.file, kept); err != nil {
			t.Fatal(err)
		}
		next := &vault{blobs: v.blobs, file: v.file} // as after a restart
		if err := spoil.do(v.file); err != nil {
			t.Fatal(err)
		}
		if c := next.check(t.Context()); c[0].State != wire.CheckFailed || !strings.Contains(c[0].Fix, spoil.fix) {
			t.Errorf("%s: %+v", name, c)
		}
		if _, _, err := next.Get(t.Context(), token, 0); err == nil || errors.Is(err, secrets.ErrNotFound) {
			t.Errorf("%s: get: %v", name, err)
		}
		if list, err := next.List(context.Background(), "default"); err != nil || len(list) != 1 {
			t.Errorf("%s: list: %v, %v", name, list, err)
		}
		if err := errors.Join(os.Chmod(kept, 0o600), os.Rename(kept, v.file)); err != nil {
			t.Fatal(err)
		}
		if got, _, err := next.Get(t.Context(), token, 0); err != nil || got.RevealString() != "x" {
			t.Errorf("%s: after its return: %v", name, err)
		}
	}
}

func anotherKey(file string) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	_, err := secrets.CreateKeyFile(file)
	return err
}
