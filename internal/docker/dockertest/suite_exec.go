package dockertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/internal/docker"
)

// Tools are commands that the suite executes in a container of Fixture.Sleep.
type Tools struct {
	// Print prints a line to each stream and exits with the code.
	Print func(stdout, stderr string, code int) []string
	// Copy copies its input to its output as it comes, and then prints the line
	// "err" to standard error.
	Copy []string
	// Env prints the value of a variable, and nothing else.
	Env func(name string) []string
	// Read prints a file, and nothing else; it exits with 0 when there is one.
	Read func(path string) []string
	// Stat prints the permissions in octal, the owner and the group of a file:
	// "640 7 8".
	Stat func(path string) []string
	// Write writes a file and exits with 0 when that is allowed.
	Write func(path, text string) []string
	// Resolve prints the first IPv4 address of a name.
	Resolve func(name string) []string
	// Where prints the user, the group and the working directory: "0 0 /".
	Where []string
	// Size waits until its terminal has the size, and prints it: "80x24".
	Size func(docker.TermSize) []string
}

var execCases = []SuiteCase{
	{"ACommandsOutputsAreApartAndItsCodeIsReturned", func(s *suite) {
		id := s.tooled()
		for _, code := range []int{0, 3, 126, 127} {
			got := s.exec(id, docker.ExecSpec{Command: s.Tools.Print("to out", "to err", code)})
			if got != (execResult{"to out\n", "to err\n", code}) {
				s.Errorf("exit %d: %+v", code, got)
			}
		}
		code, err := s.Runtime.Exec(s.ctx, id, docker.ExecSpec{Command: s.Tools.Print("a", "b", 4)})
		s.must(err, "exec without writers")
		if code != 4 {
			s.Errorf("without writers the code is %d", code)
		}
	}},
	{"InputReachesACommandAndEnds", func(s *suite) {
		id := s.tooled()
		for _, size := range []int{0, 1, 300_000} {
			text := strings.Repeat("0123456789abcdef\n", size/17+1)[:size]
			got := s.exec(id, docker.ExecSpec{Command: s.Tools.Copy, Stdin: strings.NewReader(text)})
			if got.stdout != text || got.stderr != "err\n" || got.code != 0 {
				s.Errorf("of %d bytes %d came back, stderr %q, code %d", size, len(got.stdout), got.stderr, got.code)
			}
		}
		if got := s.exec(id, docker.ExecSpec{Command: s.Tools.Copy}); got.stdout != "" || got.code != 0 {
			s.Errorf("without an input: %+v", got)
		}
	}},
	{"AnInputThatNeverEndsDoesNotHoldACommandThatEnded", func(s *suite) {
		id := s.tooled()
		in, feed := io.Pipe()
		defer feed.Close()
		got := s.exec(id, docker.ExecSpec{Command: s.Tools.Print("done", "", 0), Stdin: in})
		if got.stdout != "done\n" {
			s.Errorf("%+v", got)
		}
	}},
	{"ACommandAnswersWhileItReads", func(s *suite) {
		id := s.tooled()
		in, feed := io.Pipe()
		r := s.begin(s.ctx, id, docker.ExecSpec{Command: s.Tools.Copy, Stdin: in})
		for _, word := range []string{"one", "two"} {
			_, err := io.WriteString(feed, word)
			s.must(err, "write to the command")
			if !s.Wait(func() bool { return strings.HasSuffix(r.stdout.String(), word) }) {
				s.Fatalf("no answer to %q: %q", word, r.stdout.String())
			}
		}
		feed.Close()
		if !s.Wait(r.ended) {
			s.Fatal("it goes on after its input ended")
		}
		s.must(r.err, "exec")
	}},
	{"ACommandHasTheContainersSurroundingsUnlessGivenItsOwn", func(s *suite) {
		s.need(s.Tools.Print != nil, "tools")
		spec := s.spec(s.Sleep)
		spec.Env = append(spec.Env, docker.EnvVar{Name: "GIVEN", Value: "by the container"})
		id := s.run(spec)
		if got := s.exec(id, docker.ExecSpec{Command: s.Tools.Env("GIVEN")}); got.stdout != "by the container" {
			s.Errorf("the container's variable is %q", got.stdout)
		}
		value := " a=b $X \"é\n"
		own := docker.ExecSpec{Command: s.Tools.Env("GIVEN"), Env: []docker.EnvVar{{Name: "GIVEN", Value: value}}}
		if got := s.exec(id, own); got.stdout != value {
			s.Errorf("the command's own variable is %q", got.stdout)
		}
		if got := s.exec(id, docker.ExecSpec{Command: s.Tools.Where}); got.stdout != "0 0 /\n" {
			s.Errorf("it runs as and in %q", got.stdout)
		}
		if got := s.exec(id, docker.ExecSpec{Command: s.Tools.Where, User: "7:8", WorkingDir: "/proc"}); got.stdout != "7 8 /proc\n" {
			s.Errorf("it runs as and in %q, not as asked", got.stdout)
		}
	}},
	{"AProgramThatIsNotThereIsNamed", func(s *suite) {
		id := s.tooled()
		for _, tty := range []bool{false, true} {
			for _, program := range []string{"/no/such-program", "no-such-program"} {
				var out bytes.Buffer
				_, err := s.Runtime.Exec(s.ctx, id, docker.ExecSpec{Command: []string{program, "x"}, TTY: tty, Stdout: &out, Stderr: &out})
				s.wantErr(err, docker.IsExecNotFound, "exec of "+program)
				if !strings.Contains(err.Error(), program) || out.Len() > 0 {
					s.Errorf("%v, output %q", err, out.String())
				}
			}
		}
	}},
	{"ACommandNeedsARunningContainer", func(s *suite) {
		id := s.create(s.spec(s.Sleep))
		spec := docker.ExecSpec{Command: []string{"any"}}
		_, err := s.Runtime.Exec(s.ctx, id, spec)
		s.wantErr(err, docker.IsNotRunning, "exec in a created container")
		s.must(s.Runtime.Start(s.ctx, id), "start")
		_, err = s.Runtime.Exec(s.ctx, id, docker.ExecSpec{})
		s.wantErr(err, func(err error) bool { return errors.Is(err, docker.ErrInvalid) }, "exec of nothing")
		s.must(s.Runtime.Stop(s.ctx, id, 0), "stop")
		_, err = s.Runtime.Exec(s.ctx, id, spec)
		s.wantErr(err, docker.IsNotRunning, "exec in a stopped container")
		_, err = s.Runtime.Exec(s.ctx, s.name("none"), spec)
		s.wantErr(err, docker.IsNotFound, "exec in a missing container")
	}},
	{"ADoneContextEndsTheAttachment", func(s *suite) {
		id := s.tooled()
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		in, feed := io.Pipe()
		defer feed.Close()
		r := s.begin(ctx, id, docker.ExecSpec{Command: s.Tools.Copy, Stdin: in})
		_, err := io.WriteString(feed, "x")
		s.must(err, "write to the command")
		if !s.Wait(func() bool { return r.stdout.String() == "x" }) {
			s.Fatal("the command does not answer")
		}
		cancel()
		if !s.Wait(r.ended) {
			s.Fatal("exec goes on after its context is done")
		}
		s.wantErr(r.err, func(err error) bool { return errors.Is(err, context.Canceled) }, "exec")
	}},
	{"ACommandEndsWithItsContainer", func(s *suite) {
		id := s.tooled()
		in, feed := io.Pipe()
		defer feed.Close()
		r := s.begin(s.ctx, id, docker.ExecSpec{Command: s.Tools.Copy, Stdin: in})
		_, err := io.WriteString(feed, "x")
		s.must(err, "write to the command")
		if !s.Wait(func() bool { return r.stdout.String() == "x" }) {
			s.Fatal("the command does not answer")
		}
		s.must(s.Runtime.Stop(s.ctx, id, 0), "stop")
		if !s.Wait(r.ended) {
			s.Fatal("exec goes on after the container ended")
		}
		if r.err == nil && r.code != 137 || r.err != nil && !docker.IsNotRunning(r.err) {
			s.Fatalf("code %d, error %v", r.code, r.err)
		}
	}},
	{"AnErrorOfAWriterEndsTheAttachment", func(s *suite) {
		id := s.tooled()
		full := errors.New("full")
		_, err := s.Runtime.Exec(s.ctx, id, docker.ExecSpec{Command: s.Tools.Print("a", "b", 0), Stdout: failingWriter{full}})
		s.wantErr(err, func(err error) bool { return errors.Is(err, full) }, "exec")
	}},
	{"ATerminalHasTheSizeItIsGiven", func(s *suite) {
		id := s.tooled()
		for _, sizes := range [][]docker.TermSize{{{Width: 100, Height: 40}}, {{Width: 90, Height: 30}, {Width: 120, Height: 50}}} {
			resize := make(chan docker.TermSize, len(sizes))
			for _, size := range sizes {
				resize <- size
			}
			last := sizes[len(sizes)-1]
			got := s.exec(id, docker.ExecSpec{Command: s.Tools.Size(last), TTY: true, Resize: resize})
			if want := termSize(last); strings.TrimSpace(got.stdout) != want || got.code != 0 || got.stderr != "" {
				s.Errorf("got %+v, want %s", got, want)
			}
		}
	}},
	{"ATerminalIsOneStream", func(s *suite) {
		id := s.tooled()
		for _, code := range []int{0, 126, 127} {
			got := s.exec(id, docker.ExecSpec{Command: s.Tools.Print("to out", "to err", code), TTY: true})
			if strings.ReplaceAll(got.stdout, "\r", "") != "to out\nto err\n" || got.stderr != "" || got.code != code {
				s.Errorf("exit %d: %+v", code, got)
			}
		}
	}},
}

// tooled runs a container that the tools are in.
func (s *suite) tooled() string {
	s.Helper()
	s.need(s.Tools.Print != nil, "tools")
	return s.run(s.spec(s.Sleep))
}

type execResult struct {
	stdout, stderr string
	code           int
}

// exec executes a command to its end.
func (s *suite) exec(id string, e docker.ExecSpec) execResult {
	s.Helper()
	var stdout, stderr bytes.Buffer
	e.Stdout, e.Stderr = &stdout, &stderr
	code, err := s.Runtime.Exec(s.ctx, id, e)
	s.must(err, "exec "+strings.Join(e.Command, " "))
	return execResult{stdout.String(), stderr.String(), code}
}

// commandRun is a command on a goroutine of its own.
type commandRun struct {
	stdout lockedBuffer
	code   int // once ended
	err    error
	done   chan struct{}
}

func (s *suite) begin(ctx context.Context, id string, e docker.ExecSpec) *commandRun {
	r := &commandRun{done: make(chan struct{})}
	e.Stdout = &r.stdout
	ctx, cancel := context.WithCancel(ctx)
	s.Cleanup(func() { cancel(); <-r.done })
	go func() {
		defer close(r.done)
		r.code, r.err = s.Runtime.Exec(ctx, id, e)
	}()
	return r
}

func (r *commandRun) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// lockedBuffer may be read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
