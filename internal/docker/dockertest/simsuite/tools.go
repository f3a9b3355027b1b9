package simsuite

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

// tools are the commands that tool understands.
func tools() dockertest.Tools {
	return dockertest.Tools{
		Print: func(stdout, stderr string, code int) []string {
			return []string{"print", stdout, stderr, strconv.Itoa(code)}
		},
		Copy: []string{"copy"}, Where: []string{"where"},
		Env:     func(name string) []string { return []string{"env", name} },
		Read:    func(path string) []string { return []string{"read", path} },
		Stat:    func(path string) []string { return []string{"stat", path} },
		Write:   func(path, text string) []string { return []string{"write", path, text} },
		Resolve: func(name string) []string { return []string{"resolve", name} },
		Size: func(s docker.TermSize) []string {
			return []string{"size", fmt.Sprintf("%dx%d", s.Width, s.Height)}
		},
	}
}

var failed = dockertest.ExecOutcome{Code: 2}

// tool is the program that stands for all of them.
func tool(r dockertest.ExecRun) dockertest.ExecOutcome {
	switch c := r.Command; c[0] {
	case "print":
		code, _ := strconv.Atoi(c[3])
		return dockertest.ExecOutcome{Stdout: c[1] + "\n", Stderr: c[2] + "\n", Code: code}
	case "copy":
		if _, err := io.Copy(r.Stdout, r.Stdin); err != nil {
			return failed
		}
		return dockertest.ExecOutcome{Stderr: "err\n"}
	case "env":
		for _, v := range slices.Backward(r.Env) {
			if v.Name == c[1] {
				return dockertest.ExecOutcome{Stdout: v.Value}
			}
		}
		return dockertest.ExecOutcome{}
	case "where":
		user, dir := "0:0", "/"
		if r.User != "" {
			user = r.User
		}
		if r.WorkingDir != "" {
			dir = r.WorkingDir
		}
		return dockertest.ExecOutcome{Stdout: strings.ReplaceAll(user, ":", " ") + " " + dir + "\n"}
	case "read", "stat", "write":
		return fileTool(r)
	case "resolve":
		for _, h := range r.Spec.Hosts {
			if h.Name == c[1] {
				return dockertest.ExecOutcome{Stdout: h.Address.String() + "\n"}
			}
		}
		return failed
	case "size":
		for size := range r.Resize {
			if got := fmt.Sprintf("%dx%d", size.Width, size.Height); got == c[1] {
				return dockertest.ExecOutcome{Stdout: got + "\r\n"}
			}
		}
		return failed
	}
	return dockertest.ExecOutcome{NotFound: true}
}

func fileTool(r dockertest.ExecRun) dockertest.ExecOutcome {
	path := r.Command[1]
	file, ok := r.File(path)
	switch r.Command[0] {
	case "read":
		if text, ok := kernelFile(r.Spec, path); ok {
			return dockertest.ExecOutcome{Stdout: text}
		}
		if !ok {
			return failed
		}
		return dockertest.ExecOutcome{Stdout: string(file.Data)}
	case "stat":
		if !ok {
			file.Mode = 0o755 // a directory: the suite asks for nothing else
		}
		return dockertest.ExecOutcome{Stdout: fmt.Sprintf("%o %d %d\n", file.Mode, file.UID, file.GID)}
	}
	if !r.WriteFile(path, []byte(r.Command[2])) {
		return failed
	}
	return dockertest.ExecOutcome{}
}

// kernelFile is what the suite reads of the files that a kernel or an engine
// writes.
func kernelFile(s docker.ContainerSpec, path string) (string, bool) {
	switch path {
	case "/proc/sys/kernel/hostname":
		return s.Hostname + "\n", true
	case "/etc/hosts":
		var out strings.Builder
		for _, h := range s.Hosts {
			fmt.Fprintf(&out, "%s\t%s\n", h.Address, h.Name)
		}
		return out.String(), true
	case "/proc/1/status", "/proc/self/status":
		caps, gain := uint64(0xa80425fb), 0
		if slices.Contains(s.CapDrop, "ALL") {
			caps = 0
		}
		if slices.Contains(s.CapAdd, "NET_BIND_SERVICE") {
			caps |= 1 << 10
		}
		if s.NoNewPrivileges {
			gain = 1
		}
		return fmt.Sprintf("CapPrm:\t%016[1]x\nCapEff:\t%016[1]x\nCapBnd:\t%016[1]x\nNoNewPrivs:\t%[2]d\n", caps, gain), true
	}
	return "", false
}
