package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// serving starts serve on a free port. The returned function asks it to stop;
// the channel tells how it ended.
func serving(t *testing.T, env map[string]string) (url string, stop func(), ended <-chan error) {
	t.Helper()
	s, err := readSettings(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, l, s) }()
	t.Cleanup(cancel)
	return "http://" + l.Addr().String(), cancel, done
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestAnswers(t *testing.T) {
	url, _, _ := serving(t, map[string]string{"VERSION": "v7", "GREETING": "Good day"})
	for _, c := range []struct {
		path   string
		status int
		body   string
	}{
		{"/", 200, "Good day, version v7\n"},
		{"/healthz", 200, "ok\n"},
		{"/version", 200, "v7\n"},
		{"/slow?ms=1", 200, "slowly\ndone\n"},
		{"/slow?ms=x", 400, "ms is a number of milliseconds, up to 600000\n"},
		{"/status?code=418", 418, ""},
		{"/bytes?n=5", 200, "abcde"},
		{"/env?name=GREETING", 200, "Good day"},
		{"/nowhere", 404, "404 page not found\n"},
	} {
		if status, body := get(t, url+c.path); status != c.status || body != c.body {
			t.Errorf("%s: %d %q; want %d %q", c.path, status, body, c.status, c.body)
		}
	}
}

func TestEchoGivesTheWholeBodyBack(t *testing.T) {
	url, _, _ := serving(t, nil)
	for _, size := range []int{0, 1024, 1 << 20} {
		sent := strings.Repeat("e", size)
		resp, err := http.Post(url+"/echo", "text/plain", strings.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != sent || resp.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("of %d bytes %d came back as %s, %v", size, len(body), resp.Header.Get("Content-Type"), err)
		}
	}
}

func TestDataSurvivesInItsDirectory(t *testing.T) {
	dir := t.TempDir()
	url, _, _ := serving(t, map[string]string{"DATA_DIR": dir})
	req, _ := http.NewRequest(http.MethodPut, url+"/data/note", strings.NewReader("kept"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if status, body := get(t, url+"/data/note"); status != 200 || body != "kept" {
		t.Errorf("/data/note: %d %q", status, body)
	}
	if status, _ := get(t, url+"/data/..%2Fnote"); status != 404 {
		t.Errorf("a path out of the directory answers %d", status)
	}
}

func TestRequestInFlightFinishesAfterStop(t *testing.T) {
	url, stop, ended := serving(t, nil)
	resp, err := http.Get(url + "/slow?ms=300")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stop() // the headers and half of the body have arrived
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "slowly\ndone\n" {
		t.Errorf("body %q, error %v", body, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("serve ended with %v", err)
	}
}

func TestEventStreamEndsCleanlyAtStop(t *testing.T) {
	url, stop, ended := serving(t, map[string]string{"VERSION": "v1"})
	req, _ := http.NewRequest(http.MethodGet, url+"/sse?interval=3600000", nil)
	req.Header.Set("Last-Event-ID", "41")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	if first, _ := lines.ReadString('\n'); first != "id: 42\n" {
		t.Errorf("the first event has %q", first)
	}
	stop()
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
	if want := "data: v1\n\nevent: end\nid: 43\ndata: v1\n\n"; string(rest) != want {
		t.Errorf("rest %q; want %q", rest, want)
	}
	if err := <-ended; err != nil {
		t.Errorf("serve ended with %v", err)
	}
}

func TestWebSocketEchoesAndClosesAsGoingAway(t *testing.T) {
	url, stop, ended := serving(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, url+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(ctx, websocket.MessageText, []byte("there and back")); err != nil {
		t.Fatal(err)
	}
	if _, got, err := conn.Read(ctx); err != nil || string(got) != "there and back" {
		t.Fatalf("read %q, %v", got, err)
	}
	stop()
	_, _, err = conn.Read(ctx)
	if got := websocket.CloseStatus(err); got != websocket.StatusGoingAway {
		t.Errorf("closed with %v (%v); want 1001", got, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("serve ended with %v", err)
	}
}

func TestWithoutWhatRunsBesideThereIsNoAnswer(t *testing.T) {
	beside, stopBeside, besideEnded := serving(t, nil)
	url, _, _ := serving(t, map[string]string{"BESIDE": beside + "/healthz"})
	if status, body := get(t, url+"/"); status != 200 {
		t.Fatalf("beside what serves: %d %q", status, body)
	}
	resp, err := http.Get(url + "/slow?ms=300")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stopBeside()
	<-besideEnded
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("a slow answer is whole, %q, though what runs beside has ended", body)
	}
	if status, _ := get(t, url+"/"); status != 502 {
		t.Errorf("beside what has ended: status %d", status)
	}
	if status, _ := get(t, url+"/healthz"); status != 200 {
		t.Errorf("/healthz: status %d", status)
	}
}

func TestErrorModeAnswers500(t *testing.T) {
	url, _, _ := serving(t, map[string]string{"MODE": "error"})
	if status, _ := get(t, url+"/healthz"); status != 500 {
		t.Errorf("status %d", status)
	}
}

func TestSilentModeNeverAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- acceptAndSayNothing(ctx, l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v", n, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestExitModeLogsAndReturnsItsCode(t *testing.T) {
	s, err := readSettings(func(name string) string {
		return map[string]string{"MODE": "exit", "EXIT_CODE": "7", "LOG_LINES": "2"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	code := s.exitEarly(context.Background(), &out)
	want := "web: start-up line 1 of 2\nweb: start-up line 2 of 2\nweb: giving up with code 7\n"
	if code != 7 || out.String() != want {
		t.Errorf("code %d, output %q", code, out.String())
	}
}

func TestBadSettingsAreAllNamed(t *testing.T) {
	_, err := readSettings(func(name string) string {
		return map[string]string{"MODE": "odd", "PORT": "http", "AFTER": "soon"}[name]
	})
	for _, name := range []string{"MODE", "PORT", "AFTER"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v does not name %s", err, name)
		}
	}
}
