package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// line is one figure. It is at most its target when that is met, or at least
// with AtLeast; a target of 0 says that the figure is there to explain others.
type line struct {
	What    string
	Value   float64
	Format  string // of the value, with its unit
	Target  float64
	AtLeast bool
	Detail  string
	Part    string // that measures it alone
}

// command measures the line again.
func (l line) command() string { return "`go run ./test/bench -only " + l.Part + "`" }

func (l line) verdict() string {
	over := l.Value / l.Target
	if l.AtLeast {
		over = l.Target / l.Value
	}
	switch {
	case l.Target == 0:
		return ""
	case over <= 1:
		return "met"
	}
	return fmt.Sprintf("missed, by %.2f ×", over)
}

func (l line) figure() string { return fmt.Sprintf(l.Format, l.Value) }

func (l line) target() string {
	if l.Target == 0 {
		return ""
	}
	if l.AtLeast {
		return "≥ " + fmt.Sprintf(l.Format, l.Target)
	}
	return "≤ " + fmt.Sprintf(l.Format, l.Target)
}

// String is the line as it is printed.
func (l line) String() string {
	s := l.What + ": " + l.figure()
	if l.Target != 0 {
		s += " (target " + l.target() + ", " + l.verdict() + ")"
	}
	if l.Detail != "" {
		s += "; " + l.Detail
	}
	return s
}

const preamble = `# Benchmarks

This page is written by

    make bench

which sets the machine up, builds the binaries and runs [test/bench](../test/bench). Every figure below was measured in one run; the command beside it
measures it alone, after ` + "`make build`" + `, and writes nothing. Ratios are medians of
interleaved pairs: both sides of a pair run right after one another, and which comes first alternates, so that what else the machine does weighs on
both. Memory is VmRSS as the kernel counts it, pages of the binary included.

`

// writeReport replaces the report.
func writeReport(o options, lines []line) error {
	var b strings.Builder
	b.WriteString(preamble)
	fmt.Fprintf(&b, "Measured on %s: %s.\n\n", time.Now().UTC().Format(time.DateOnly), machine())
	b.WriteString("| what | figure | target | verdict | how it came about | command |\n|---|---|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", l.What, l.figure(), l.target(), l.verdict(), l.Detail, l.command())
	}
	notes, err := os.ReadFile(filepath.Clean(o.notes))
	if err != nil {
		return fmt.Errorf("read the notes: %w", err)
	}
	b.WriteString("\n")
	b.Write(notes)
	if err := os.WriteFile(o.out, []byte(b.String()), 0o644); err != nil {
		return err
	}
	fmt.Println("written to", o.out)
	return nil
}

// machine says what the figures were measured on.
func machine() string {
	return fmt.Sprintf("%d processors (%s), Linux %s, Docker from the system, %s",
		runtime.NumCPU(), procField("/proc/cpuinfo", "model name"), kernel(), runtime.Version())
}

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "of unknown release"
	}
	version, _, _ := strings.Cut(strings.TrimSpace(string(b)), "-")
	return version // what follows names a builder, not the kernel
}

// procField is the value of the first "name: value" line, or "unknown".
func procField(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}
