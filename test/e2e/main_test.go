package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

const (
	buildTimeout = 5 * time.Minute
	module       = "github.com/berth-cloud/berth"
)

func TestMain(m *testing.M) {
	testimage.SideBySide(3)
	code := m.Run()
	if dir := builtIn(); dir != "" {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, "remove the built programs:", err)
		}
	}
	os.Exit(code)
}

var built struct {
	sync.Mutex
	dir string
	err error
}

func builtIn() string {
	built.Lock()
	defer built.Unlock()
	return built.dir
}

// programs returns the directory of berth, berthd and berth-node, built once.
func programs(t testing.TB) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" && built.err == nil {
		built.dir, built.err = build()
	}
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

func build() (string, error) {
	dir, err := os.MkdirTemp("", "berth-e2e-bin-")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	for _, name := range []string{"berth", "berthd", "berth-node"} {
		args = append(args, module+"/cmd/"+name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build Berth's programs: %w\n%s", err, out)
	}
	return dir, nil
}
