package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Compile builds the Go package pkg, an import path of the module that the
// working directory is in, as a static program and returns its bytes.
func Compile(ctx context.Context, pkg string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "berth-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "program")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s for an image: %w\n%s", pkg, err, said)
	}
	return os.ReadFile(out)
}
