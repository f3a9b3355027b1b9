package shard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/instances"
)

// The cache is no truth: whatever becomes of its file, machines are made, found and
// deleted, and the next rebuild has all of it again.
func TestTheCacheMayBeLostWhileAServerRuns(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"deleted":         func(path string) error { return os.Remove(path) },
		"with its folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"corrupted": func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			junk := make([]byte, info.Size())
			for i := range junk {
				junk[i] = byte(i * 7)
			}
			_, err = f.Write(junk)
			return err
		},
		"cut off":          func(path string) error { return os.Truncate(path, 100) },
		"taken by another": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s, _ := w.serve(nil)
			id := w.machine(s)
			path := filepath.Join(w.cache, "machines.db")
			for _, end := range []string{"-wal", "-shm", ""} {
				if _, err := os.Stat(path + end); err == nil {
					mustBe(t, lose(path+end))
				}
			}
			made, err := s.Manager.CreateInstance(t.Context(), instances.CreateInstanceRequest{Tenant: "acme", Group: "web"})
			if err != nil {
				t.Errorf("create: %v", err)
			} else {
				if _, err := s.Manager.GetInstanceStatus(t.Context(), made.InstanceID); err != nil {
					t.Errorf("status: %v", err)
				}
			}
			if err := s.Manager.DeleteInstance(t.Context(), id); err != nil {
				t.Errorf("delete: %v", err)
			}
			if _, err := s.Manager.Collect(t.Context()); err != nil {
				t.Errorf("collect: %v", err)
			}
			if err := s.Manager.RebuildCache(t.Context()); err != nil {
				t.Errorf("rebuild: %v", err)
			}
			if n := strings.Count(w.log.String(), "was not brought up to date"); n > 1 {
				t.Errorf("%d lines tell of it: %s", n, w.log)
			}
			if _, err := s.Manager.CreateInstance(t.Context(), instances.CreateInstanceRequest{Tenant: "acme", Group: "web"}); err != nil {
				t.Errorf("create: %v", err)
			}
			if strings.Count(w.log.String(), "was not brought up to date") > 1 {
				t.Errorf("it is still lost: %s", w.log)
			}
		})
	}
}
