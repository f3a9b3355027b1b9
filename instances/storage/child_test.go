package storage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/storage"
)

const childCounts = 25

// playChild counts up in a directory beside others.
func playChild(dir string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := storage.OpenDirectory(dir)
	if err == nil {
		for range childCounts {
			err = errors.Join(err, countUp(ctx, d))
		}
		err = errors.Join(err, d.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func countUp(ctx context.Context, s storage.Storage) error {
	for {
		data, tag, err := s.Get(ctx, "a/n")
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		n := 0
		if err == nil {
			if n, err = strconv.Atoi(string(data)); err != nil {
				return err
			}
		}
		_, err = s.PutIfMatch(ctx, "a/n", []byte(strconv.Itoa(n+1)), tag)
		if !errors.Is(err, storage.ErrPrecondition) {
			return err
		}
	}
}

func TestProcessesOnOneDirectoryLoseNoCount(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var children []*exec.Cmd
	for range 3 {
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(os.Environ(), childEnv+"="+dir)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	data, _, err := openDirectory(t, dir).Get(t.Context(), "a/n")
	if want := strconv.Itoa(3 * childCounts); err != nil || string(data) != want {
		t.Errorf("%q, %v; want %s", data, err, want)
	}
}
