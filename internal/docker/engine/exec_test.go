package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// fakeExec is an engine that knows one command of one container.
type fakeExec struct {
	create  func(w http.ResponseWriter)                  // nil accepts
	start   func(w http.ResponseWriter)                  // nil hands the connection over
	stream  func(conn net.Conn, in io.Reader)            // nil ends at once
	inspect func(w http.ResponseWriter, asked int32)     // nil: exit code 0
	state   func(w http.ResponseWriter, r *http.Request) // of the container; nil: it runs
	asked   atomic.Int32                                 // how often the command was inspected
}

const cmdRunning, cmdEnded = `{"Running":true,"ExitCode":null,"Pid":7}`, `{"Running":false,"ExitCode":0,"Pid":7}`

func (f *fakeExec) client(t *testing.T) *Client { return fakeEngine(t, "1.41", f.serve) }

func (f *fakeExec) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/containers/web/exec"):
		if f.create != nil {
			f.create(w)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"Id":"e1"}`)
	case strings.HasSuffix(r.URL.Path, "/exec/e1/start"):
		if f.start != nil {
			f.start(w)
			return
		}
		f.upgrade(w, r)
	case strings.HasSuffix(r.URL.Path, "/exec/e1/json"):
		asked := f.asked.Add(1)
		if f.inspect != nil {
			f.inspect(w, asked)
			return
		}
		_, _ = io.WriteString(w, cmdEnded)
	case f.state != nil:
		f.state(w, r)
	default:
		_, _ = io.WriteString(w, `{"Id":"web","State":{"Status":"running"}}`)
	}
}

func (f *fakeExec) upgrade(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	if f.stream != nil {
		f.stream(conn, buffered)
	}
}

func execFrame(stream byte, text string) string {
	header := make([]byte, frameHeader)
	header[0] = stream
	binary.BigEndian.PutUint32(header[4:], uint32(len(text)))
	return string(header) + text
}

func says(text string) func(net.Conn, io.Reader) {
	return func(conn net.Conn, _ io.Reader) { _, _ = io.WriteString(conn, text) }
}

var webCheck = docker.ExecSpec{Command: []string{"/bin/check", "s3cret"}}

func TestTheEnginesWordsAboutACommandBecomeSentinels(t *testing.T) {
	oci := "OCI runtime exec failed: exec failed: container_linux.go:380: starting container process caused: "
	for _, tc := range []struct {
		status int
		text   string
		want   error
	}{
		{404, "No such container: web", docker.ErrNotFound},
		{409, "Container web is not running", docker.ErrNotRunning},
		{409, "Container web is paused, unpause the container before exec", docker.ErrNotRunning},
		{409, "Container web is restarting, wait until the container is running", docker.ErrNotRunning},
		{400, "No exec command specified", docker.ErrInvalid},
		{503, "starting up", docker.ErrUnavailable},
		{127, oci + `exec: "check": executable file not found in $PATH: unknown`, docker.ErrExecNotFound},
		{126, oci + `exec: "check": executable file not found in $PATH: unknown`, docker.ErrExecNotFound},
		{127, oci + `exec: "/bin/check": stat /bin/check: no such file or directory: unknown`, docker.ErrExecNotFound},
		{127, "", docker.ErrExecNotFound},
		{126, oci + `exec: "/bin/check": permission denied: unknown`, docker.ErrInvalid},
		{126, oci + `chdir to cwd ("/nope") set in config.json failed: no such file or directory: unknown`, docker.ErrInvalid},
		{126, "unable to find user nobody: no matching entries in passwd file", docker.ErrInvalid},
		{126, "cannot exec in a stopped state: unknown", docker.ErrNotRunning},
		{126, "", docker.ErrInvalid},
	} {
		for _, tty := range []bool{false, true} {
			f := &fakeExec{}
			if tc.status >= 400 {
				f.create = func(w http.ResponseWriter) { refuse(w, tc.status, tc.text) }
			} else {
				f.inspect = func(w http.ResponseWriter, _ int32) {
					fmt.Fprintf(w, `{"Running":false,"ExitCode":%d,"Pid":0}`, tc.status)
				}
				if tc.text != "" && tty {
					f.stream = says(tc.text + "\r\n")
				} else if tc.text != "" {
					f.stream = says(execFrame(1, tc.text+"\r\n"))
				}
			}
			var out bytes.Buffer
			e := webCheck
			e.Stdout, e.Stderr, e.TTY = &out, &out, tty
			_, err := f.client(t).Exec(t.Context(), "web", e)
			if !errors.Is(err, tc.want) || out.Len() > 0 {
				t.Errorf("%d %q: got %v, want %v; output %q", tc.status, tc.text, err, tc.want, out.String())
				continue
			}
			if text := err.Error(); !strings.HasPrefix(text, "execute /bin/check in container web: ") || !strings.Contains(text, tc.text) || strings.Contains(text, "s3cret") {
				t.Errorf("the error does not say what was tried and why it failed, or tells an argument: %v", err)
			}
		}
	}
}

func TestARefusedStartOfACommandIsAnErrorInTheEnginesWords(t *testing.T) {
	for _, tc := range []struct {
		status int
		text   string
		want   error
	}{
		{404, "No such exec instance: e1", docker.ErrNotFound},
		{409, "Container web is paused, unpause the container before exec", docker.ErrNotRunning},
		{409, "Container web is not running", docker.ErrNotRunning},
		{409, "exec e1 has already run", docker.ErrConflict},
		{400, "malformed", docker.ErrInvalid},
		{503, "shutting down", docker.ErrUnavailable},
		{500, "cannot say", nil},
	} {
		f := &fakeExec{start: func(w http.ResponseWriter) { refuse(w, tc.status, tc.text) }}
		_, err := f.client(t).Exec(t.Context(), "web", webCheck)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%d %q: got %v, want %v", tc.status, tc.text, err, tc.want)
		}
		if tc.want == nil && docker.IsUnavailable(err) {
			t.Errorf("an answer is taken for none: %v", err)
		}
	}
	f := &fakeExec{start: func(w http.ResponseWriter) { http.Error(w, "a proxy's page", http.StatusNotFound) }}
	if _, err := f.client(t).Exec(t.Context(), "web", webCheck); !errors.Is(err, docker.ErrNotFound) || !strings.Contains(err.Error(), "a proxy's page") {
		t.Errorf("an answer in other words: %v", err)
	}
}

func TestAProgramsOwnWordsAreNotTakenForTheEngines(t *testing.T) {
	f := &fakeExec{
		stream: says(execFrame(1, "a line of a program\r\n") + execFrame(1, "another\r\n")),
		inspect: func(w http.ResponseWriter, _ int32) {
			_, _ = io.WriteString(w, `{"Running":false,"ExitCode":127,"Pid":7}`)
		},
	}
	var out bytes.Buffer
	code, err := f.client(t).Exec(t.Context(), "web", docker.ExecSpec{Command: []string{"check"}, Stdout: &out})
	if code != 127 || err != nil || out.String() != "a line of a program\r\nanother\r\n" {
		t.Errorf("code %d, %v, output %q", code, err, out.String())
	}
	if asked := f.asked.Load(); asked != 2 {
		t.Errorf("asked %d times about the command, want once at the first output and once at the end", asked)
	}
}

func TestTheExitCodeIsAskedForUntilThereIsOne(t *testing.T) {
	f := &fakeExec{inspect: func(w http.ResponseWriter, asked int32) {
		if asked < 4 {
			_, _ = io.WriteString(w, cmdRunning)
			return
		}
		_, _ = io.WriteString(w, `{"Running":false,"ExitCode":5,"Pid":7}`)
	}}
	if code, err := f.client(t).Exec(t.Context(), "web", webCheck); code != 5 || err != nil {
		t.Errorf("code %d, %v", code, err)
	}
	f = &fakeExec{inspect: func(w http.ResponseWriter, _ int32) { _, _ = io.WriteString(w, cmdRunning) }}
	c := f.client(t)
	c.callTimeout = 50 * time.Millisecond
	if _, err := c.Exec(t.Context(), "web", webCheck); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("of a command that never ends: %v", err)
	}
}

func TestALostCommandIsToldApart(t *testing.T) {
	for answer, want := range map[string]error{
		`{"Id":"web","State":{"Status":"running"}}`: docker.ErrUnavailable,
		`{"Id":"web","State":{"Status":"exited"}}`:  docker.ErrNotRunning,
		"": docker.ErrNotFound,
	} {
		f := &fakeExec{
			inspect: func(w http.ResponseWriter, _ int32) { refuse(w, 404, "No such exec instance: e1") },
			state: func(w http.ResponseWriter, _ *http.Request) {
				if answer == "" {
					refuse(w, 404, "No such container: web")
					return
				}
				_, _ = io.WriteString(w, answer)
			},
		}
		if _, err := f.client(t).Exec(t.Context(), "web", webCheck); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", answer, err, want)
		}
	}
}

func TestABrokenStreamOfACommandIsAnError(t *testing.T) {
	for name, tc := range map[string]struct {
		stream string
		want   error // nil: any
	}{
		"within a header":    {execFrame(1, "abc")[:3], docker.ErrUnavailable},
		"within a frame":     {execFrame(1, "abc")[:10], docker.ErrUnavailable},
		"an unknown stream":  {execFrame(9, "abc"), nil},
		"the engine's error": {execFrame(1, "abc") + execFrame(3, "it broke"), nil},
	} {
		f := &fakeExec{stream: says(tc.stream)}
		_, err := f.client(t).Exec(t.Context(), "web", webCheck)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v", name, err)
		}
		if name == "the engine's error" && !strings.Contains(err.Error(), "it broke") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestOutputsAreTakenApartHoweverTheyAreCut(t *testing.T) {
	long := strings.Repeat("x", 3*readBuffer+7)
	stream := execFrame(1, "a") + execFrame(2, "b") + execFrame(1, "") + execFrame(1, long) + execFrame(0, "c") + execFrame(2, "d")
	f := &fakeExec{stream: func(conn net.Conn, _ io.Reader) {
		for i := 0; i < len(stream); i += 4099 {
			_, _ = io.WriteString(conn, stream[i:min(i+4099, len(stream))])
		}
	}}
	var stdout, stderr bytes.Buffer
	e := webCheck
	e.Stdout, e.Stderr = &stdout, &stderr
	if _, err := f.client(t).Exec(t.Context(), "web", e); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != "a"+long+"c" || stderr.String() != "bd" {
		t.Errorf("%d bytes of output, stderr %q", stdout.Len(), stderr.String())
	}
}

func TestTheEndOfTheInputIsTold(t *testing.T) {
	f := &fakeExec{stream: func(conn net.Conn, in io.Reader) {
		text, _ := io.ReadAll(in)
		_, _ = io.WriteString(conn, execFrame(1, fmt.Sprint(len(text))))
	}}
	var out bytes.Buffer
	e := webCheck
	e.Stdin, e.Stdout = strings.NewReader(strings.Repeat("y", 200_000)), &out
	if _, err := f.client(t).Exec(t.Context(), "web", e); err != nil || out.String() != "200000" {
		t.Errorf("%v, the command got %s bytes", err, out.String())
	}
}

// deafConn cannot be closed in one direction.
type deafConn struct{ net.Conn }

func TestAConnectionThatCannotTellTheEndOfTheInputIsRefused(t *testing.T) {
	f := &fakeExec{stream: func(_ net.Conn, in io.Reader) { _, _ = bufio.NewReader(in).ReadByte() }}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_ping" {
			w.Header().Set("Api-Version", "1.41")
			return
		}
		f.serve(w, r)
	}))
	defer srv.Close()
	c, err := New(Options{Host: "node-7", Dial: func(ctx context.Context) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", srv.Listener.Addr().String())
		return deafConn{conn}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e := webCheck
	e.Stdin = strings.NewReader("x")
	if _, err := c.Exec(t.Context(), "web", e); err == nil || !strings.Contains(err.Error(), "input ended") {
		t.Errorf("got %v", err)
	}
}

func TestACommandThatDoesNotBeginIsUnavailable(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/start") {
			<-hang
			return
		}
		(&fakeExec{}).serve(w, r)
	})
	c.callTimeout = 50 * time.Millisecond
	if _, err := c.Exec(t.Context(), "web", webCheck); !docker.IsUnavailable(err) {
		t.Errorf("got %v", err)
	}
}

func TestACommandThatTheAPICannotCarryIsInvalid(t *testing.T) {
	c := fakeEngine(t, "1.41", func(http.ResponseWriter, *http.Request) { t.Error("a call went out") })
	for name, e := range map[string]docker.ExecSpec{
		"nothing":        {},
		"an empty name":  {Command: []string{""}},
		"a NUL":          {Command: []string{"a", "\x00"}},
		"not UTF-8":      {Command: []string{"\xff"}},
		"a bad variable": {Command: []string{"a"}, Env: []docker.EnvVar{{Name: "A=B"}}},
	} {
		if _, err := c.Exec(t.Context(), "web", e); !errors.Is(err, docker.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
