package netns

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	searchPath     = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	commandTimeout = 30 * time.Second
	maxOutput      = 8 << 20 // bytes
)

// bounded keeps the beginning of what is written.
type bounded struct {
	bytes.Buffer

	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, b.most-b.Len()))])
	return len(p), nil
}

// command runs a program with these lines as its input, and returns its output.
func command(ctx context.Context, input string, argv ...string) ([]byte, error) {
	return commandWith(ctx, nil, input, argv...)
}

// commandWith runs a program that gets files as its descriptors from 3 on.
func commandWith(ctx context.Context, files []*os.File, input string, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = []string{searchPath}
	cmd.Dir = "/"
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	cmd.ExtraFiles = files
	out, said := bounded{most: maxOutput}, bounded{most: 1 << 10}
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ended := ctx.Err(); ended != nil {
			err = ended
		}
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}
