package script

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Run takes the steps, which are the arguments of the host when there are none,
// and returns the exit code: that of "exit", 0 after the last step, and 2 when a
// step failed. It ends at once when ctx does, as a container that is killed.
//
//	out:TEXT err:TEXT     print a line to standard output or error
//	lines:N               print "line 0" … "line N-1", on the streams in turn
//	long:N                print a line of N bytes
//	env:NAME              print a variable; it fails when that is not set
//	args                  print the arguments as a JSON array
//	hostname user pwd     print it; user is "uid:gid"
//	tty                   print "COLSxROWS", or "none"
//	resized:COLSxROWS     wait for that size of the terminal and print it
//	cat                   copy the input to the output
//	read:PATH             print a file as it is
//	mode:PATH             print the permissions of a file, such as "600"
//	write:PATH:TEXT       make or replace a file
//	append:PATH:TEXT      add a line to a file
//	hold:DIR              be the one writer of DIR until the end; see hold.go
//	listen:PORT           serve HTTP from now on; see serve.go
//	dial:HOST:PORT        connect; fails when nobody listens
//	fetch:URL             print the body that a GET answers with 200
//	sleep:DURATION        wait
//	wait                  wait for the stop signal and print "stopping"
//	ignore                take no notice of the stop signal from now on
//	unhealthy healthy     change what /healthz answers
//	burn                  keep a CPU busy from now on
//	eat:MIB               take and hold memory
//	exit:CODE             end the program, also when a request says so
func Run(ctx context.Context, h Host, steps ...string) int {
	if len(steps) == 0 {
		steps = h.Args()
	}
	killed := ctx
	ctx, cancel := context.WithCancel(ctx)
	r := &runner{Host: h, ctx: ctx, end: cancel}
	defer func() { r.finish(killed.Err() != nil) }()
	for _, step := range steps {
		err := r.perform(output{h.Stdout(), h.Stderr()}, step)
		if r.ctx.Err() != nil {
			break
		}
		if err != nil {
			fmt.Fprintf(h.Stderr(), "script: %s: %v\n", step, err)
			r.exit(exitFailed)
		}
	}
	return int(r.code.Load())
}

// exitFailed is the exit code of a script one of whose steps failed.
const exitFailed = 2

// drain bounds how long requests in flight may go on after the last step.
const drain = 5 * time.Second

type runner struct {
	Host
	ctx  context.Context // ends with the script
	end  context.CancelFunc
	code atomic.Int32

	unhealthy atomic.Bool

	mu      sync.Mutex
	endings []func(killed bool)
}

// exit ends the script from wherever it is called.
func (r *runner) exit(code int) {
	r.code.CompareAndSwap(0, int32(code))
	r.end()
}

// atEnd calls f when the script has ended, and tells whether it was killed.
func (r *runner) atEnd(f func(killed bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endings = append(r.endings, f)
}

func (r *runner) finish(killed bool) {
	r.end()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.endings {
		f(killed)
	}
}

// sleep reports whether the script goes on.
func (r *runner) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// cut is what is before and behind the first colon.
func cut(s string) (string, string) {
	name, arg, _ := strings.Cut(s, ":")
	return name, arg
}
