package apitest

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/provider/memory"
)

// shop is an image that serves, says so, and has a few commands.
func shop(word string) memory.Image {
	return memory.Image{Entrypoint: []string{"/serve"}, Programs: map[string]memory.Program{
		"/serve": func(ctx context.Context, p *memory.Process) int {
			fmt.Fprintf(p.Stdout(), "%s listens\n", word)
			return memory.Serve(ctx, p)
		},
		"echo": func(_ context.Context, p *memory.Process) int {
			fmt.Fprintln(p.Stdout(), strings.Join(p.Args(), " "))
			return 0
		},
		"complain": func(_ context.Context, p *memory.Process) int {
			fmt.Fprintln(p.Stderr(), strings.Join(p.Args(), " "))
			return 0
		},
		"cat": func(_ context.Context, p *memory.Process) int {
			if _, err := io.Copy(p.Stdout(), p.Stdin()); err != nil {
				return 1
			}
			return 0
		},
		"fail": func(_ context.Context, p *memory.Process) int {
			code, _ := strconv.Atoi(strings.Join(p.Args(), ""))
			return code
		},
		"read": func(_ context.Context, p *memory.Process) int {
			content, err := p.ReadFile(strings.Join(p.Args(), ""))
			if err != nil {
				fmt.Fprintln(p.Stderr(), err)
				return 1
			}
			_, _ = p.Stdout().Write(content)
			return 0
		},
		"env": func(_ context.Context, p *memory.Process) int {
			value, _ := p.LookupEnv(strings.Join(p.Args(), ""))
			fmt.Fprintln(p.Stdout(), value)
			return 0
		},
	}}
}

// fail is a program that never comes up.
func fail(_ context.Context, p *memory.Process) int {
	fmt.Fprintln(p.Stdout(), "no settings")
	return 3
}
