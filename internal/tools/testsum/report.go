package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// maxOutput bounds what is kept of one test's output; its end is what tells.
const maxOutput = 256 << 10

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a build-output or build-fail
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string
}

// result is what became of one test.
type result struct {
	name    string
	outcome string // "pass", "fail" or "skip"
	elapsed time.Duration
	reason  string // of a skip
}

// pkg is one package while its tests run.
type pkg struct {
	output  map[string]*transcript // by test, with its subtests; "" is the package's own
	said    map[string]string      // the last line that a test logged, by full name
	results []result
}

// report collects events and prints as packages end.
type report struct {
	out                     io.Writer
	pkgs                    map[string]*pkg
	builds                  map[string]*strings.Builder
	passed, failed, skipped int
	untested                int
	broken                  []string
	left                    []string
	slow                    []slowTest
}

func newReport(out io.Writer) *report {
	return &report{out: out, pkgs: map[string]*pkg{}, builds: map[string]*strings.Builder{}}
}

// read takes events until the stream ends. What is not an event is printed as it is.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(r.out, "%s\n", strings.TrimRight(string(line), "\n"))
			} else {
				r.take(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading go test's events: %w", err)
		}
	}
}

func (r *report) take(e event) {
	switch e.Action {
	case "build-output":
		r.build(e.ImportPath).WriteString(e.Output)
	case "build-fail":
		fmt.Fprint(r.out, r.build(e.ImportPath).String())
	case "output":
		r.pkg(e.Package).hear(e)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnded(e)
		} else {
			r.testEnded(e)
		}
	}
}

func (r *report) build(importPath string) *strings.Builder {
	b, ok := r.builds[importPath]
	if !ok {
		b = &strings.Builder{}
		r.builds[importPath] = b
	}
	return b
}

func (r *report) pkg(name string) *pkg {
	p, ok := r.pkgs[name]
	if !ok {
		p = &pkg{output: map[string]*transcript{}, said: map[string]string{}}
		r.pkgs[name] = p
	}
	return p
}

// hear keeps a line of output with the top-level test that it belongs to.
func (p *pkg) hear(e event) {
	top, _, _ := strings.Cut(e.Test, "/")
	b, ok := p.output[top]
	if !ok {
		b = &transcript{}
		p.output[top] = b
	}
	b.add(e.Test, e.Output)
	if text := strings.TrimSpace(e.Output); e.Test != "" && text != "" && !isFrame(text) {
		p.said[e.Test] = text
	}
}

// isFrame says whether a line is go test's own and not the test's.
func isFrame(text string) bool {
	for _, p := range []string{"=== ", "--- "} {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

func (r *report) testEnded(e event) {
	p := r.pkg(e.Package)
	p.results = append(p.results, result{
		name:    e.Test,
		outcome: e.Action,
		elapsed: time.Duration(e.Elapsed * float64(time.Second)),
		reason:  p.said[e.Test],
	})
	if strings.Contains(e.Test, "/") {
		return
	}
	if e.Action == "fail" {
		fmt.Fprint(r.out, p.output[e.Test].about(failing(p.results)))
	}
	delete(p.output, e.Test) // what passed has nothing more to say
}
