package testimage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const compileTimeout = 3 * time.Minute

// program is one folder of test/images, compiled at most once per state of its
// sources.
type program struct {
	name, dir string
	hash      string // of the sources and the toolchain
}

// findProgram looks from the test's folder upwards for the module.
func findProgram(t testing.TB, name string) program {
	t.Helper()
	root, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(root, "go.mod")); statErr == nil {
			break
		}
		if root == filepath.Dir(root) {
			err = fmt.Errorf("no go.mod above the test's folder")
		}
		root = filepath.Dir(root)
	}
	if err != nil {
		t.Fatalf("test image %s: %v", name, err)
	}
	p := program{name: name, dir: filepath.Join(root, "test", "images", name)}
	if p.hash, err = hashFolder(p.dir); err != nil {
		t.Fatalf("test image %s: %v", name, err)
	}
	return p
}

// hashFolder covers the files of the folder itself: a test program is one
// package on the standard library alone.
func hashFolder(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n", runtime.Version(), runtime.GOARCH)
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", e.Name(), len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// binary returns the compiled program, from the user's cache when it is there.
func (p program) binary(t testing.TB) []byte {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	path := filepath.Join(cache, "berth-test-images", p.name+"-"+p.hash)
	if data, err := os.ReadFile(path); err == nil {
		return data
	}
	built := filepath.Join(t.TempDir(), p.name)
	ctx, cancel := context.WithTimeout(context.Background(), compileTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", built, ".")
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("test image %s: go build: %v\n%s", p.name, err, out)
	}
	data, err := os.ReadFile(built)
	if err != nil {
		t.Fatalf("test image %s: %v", p.name, err)
	}
	if err := keep(path, data); err != nil {
		t.Logf("test image %s is not cached: %v", p.name, err)
	}
	return data
}

// keep writes whole files only: other test processes read the cache.
func keep(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
