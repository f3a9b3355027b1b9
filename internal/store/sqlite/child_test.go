package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// childTimeout bounds the life of a child that nobody kills.
const childTimeout = time.Minute

// child is this test binary as another process on the same data directory.
type child struct {
	*exec.Cmd
	lines chan string // what it says, closed at its end
}

func startChild(t *testing.T, role, dir string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), childTimeout)
	c := &child{exec.CommandContext(ctx, self), make(chan string, 1<<16)}
	c.Env = append(os.Environ(), childEnv+"="+role, childDirEnv+"="+dir)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-read
		_ = c.Wait()
	})
	return c
}

// next is the child's next line.
func (c *child) next(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			t.Fatal("the child ended")
		}
		return line
	case <-time.After(childTimeout):
		t.Fatal("the child says nothing")
		return ""
	}
}

// kill ends the child as kill -9 does and returns all that it still said.
func (c *child) kill(t *testing.T) []string {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var rest []string
	for line := range c.lines {
		rest = append(rest, line)
	}
	return rest
}

// playChild is the child's main.
func playChild(role, dir string) int {
	ctx, cancel := context.WithTimeout(context.Background(), childTimeout)
	defer cancel()
	s, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	switch role {
	case "hold":
		fmt.Println("holding")
		<-ctx.Done()
	case "write":
		writeForEver(ctx, s)
	}
	return 0
}

// writers is how many goroutines of the child write at once.
const writers = 8

// writeForEver writes and says each time what was acknowledged, until killed.
func writeForEver(ctx context.Context, s *Store) {
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			app := fmt.Sprint("app", w)
			for i := 0; ctx.Err() == nil; i++ {
				if err := writeOnce(ctx, s, app, i); err != nil {
					fmt.Println("error", err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func writeOnce(ctx context.Context, s *Store, app string, i int) error {
	name := fmt.Sprintf("%s-s%d", app, i%5)
	a, err := s.ApplyChange(ctx, store.Change{
		AppID: app, Kind: store.AttemptApply, Now: time.Unix(int64(i), 0),
		Put:     []store.DesiredService{{Name: name, Image: fmt.Sprint("web:", i), Spec: spec.Service{Image: fmt.Sprint("web:", i)}}},
		Actions: map[string]string{name: "update"},
	})
	if err != nil {
		return err
	}
	fmt.Println("attempt", a.ID, name, fmt.Sprint("web:", i))
	r, err := s.CreateRelease(ctx, store.Release{Service: name, Nonce: fmt.Sprint(i), AttemptID: a.ID})
	if err != nil {
		return err
	}
	fmt.Println("release", a.ID, r.ID, "-")
	v, err := s.SetActiveRelease(ctx, store.ActiveRelease{Service: name, ReleaseID: r.ID})
	if err != nil {
		return err
	}
	fmt.Println("active", v.Version, name, r.ID)
	return nil
}
