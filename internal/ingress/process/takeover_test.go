package process

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/control"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

const patience = 20 * time.Second

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func (in *instance) inFlight(t *testing.T) int {
	n := -1
	err := in.client.Reports(t.Context(), func(r table.Report) error {
		n = 0
		for _, tr := range r.Targets {
			n += tr.InFlight
		}
		return io.EOF
	})
	if n < 0 {
		t.Log(err)
	}
	return n
}

func TestATakeoverFailsNoRequestAndCountsWhatTheOldOneStillHas(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	b := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(entered)
			<-leave
		}
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(b.Close)
	dir := t.TempDir()
	first := start(t, dir, "boot-1")
	tb := oneRoute(1, "boot-1", strings.TrimPrefix(b.URL, "http://"))
	tb.Routes[0].HoldTimeout = patience
	if _, err := first.client.Push(t.Context(), tb); err != nil {
		t.Fatal(err)
	}
	send := func(path, body string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, first.url+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Host = "shop.test"
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		got, err := io.ReadAll(res.Body)
		if err == nil && (res.StatusCode != 200 || string(got) != body) {
			err = fmt.Errorf("status %d, %q", res.StatusCode, got)
		}
		return err
	}
	slow := make(chan error, 1)
	go func() { slow <- send("/slow", "slow") }()
	<-entered

	var sent atomic.Int64
	stop := make(chan struct{})
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := send("/", "body"); err != nil {
					t.Errorf("during the takeover: %v", err)
					return
				}
				sent.Add(1)
			}
		})
	}
	until(t, "load", func() bool { return sent.Load() > 20 })
	second := startWith(t, dir, "boot-1", func(o *Options) { o.TakeOver, o.HTTP = true, []string{"127.0.0.1:0"} })
	if second.url != first.url {
		t.Errorf("the successor listens on %s, the old one on %s", second.url, first.url)
	}
	before := sent.Load()
	until(t, "load goes on", func() bool { return t.Failed() || sent.Load() > before+50 })
	close(stop)
	workers.Wait()

	until(t, "the successor counts the old one's request", func() bool { return second.inFlight(t) == 1 })
	tb.Version = 2
	ack, err := second.client.Push(t.Context(), tb)
	if err != nil || ack.Epoch != second.hello.Epoch || ack.Epoch == first.hello.Epoch {
		t.Errorf("push to the successor: %+v, %v", ack, err)
	}
	close(leave)
	if err := <-slow; err != nil {
		t.Errorf("the slow request in the old process: %v", err)
	}
	until(t, "nothing is in flight", func() bool { return second.inFlight(t) == 0 })
	http.DefaultClient.CloseIdleConnections()
	if err := first.wait(); err != nil {
		t.Errorf("the old one ended with %v", err)
	}
	if err := send("/", "after"); err != nil {
		t.Errorf("after the old one's end: %v", err)
	}
	lock, err := os.ReadFile(filepath.Join(dir, "lock"))
	if err != nil || strings.TrimSpace(string(lock)) != fmt.Sprint(os.Getpid()) {
		t.Errorf("the lock says %q, %v", lock, err)
	}
}

func TestASuccessorThatFailsLeavesTheOldOneAsItWas(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir, "boot-1")
	socket := filepath.Join(dir, "control.sock")
	heir, err := control.TakeOver(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.TakeOver(t.Context(), socket); err == nil || !strings.Contains(err.Error(), "another successor") {
		t.Errorf("a second successor: %v", err)
	}
	tb := oneRoute(1, "boot-1", backend(t, "one"))
	if _, err := first.client.Push(t.Context(), tb); err == nil || !strings.Contains(err.Error(), "handing over") {
		t.Errorf("a push meanwhile: %v", err)
	}
	heir.Close() // as when it crashes
	until(t, "pushes are taken again", func() bool { _, err := first.client.Push(t.Context(), tb); return err == nil })
	if status, body := first.get(t, "shop.test"); status != 200 || body != "one" {
		t.Errorf("got %d %q", status, body)
	}
}

func TestATakeoverWithoutAPredecessorIsAPlainStart(t *testing.T) {
	in := startWith(t, t.TempDir(), "boot-1", func(o *Options) { o.TakeOver = true })
	if status, _ := in.get(t, "shop.test"); status != 404 {
		t.Errorf("status %d", status)
	}
}

func TestAStrangerOnTheSocketIsNoPredecessor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 1024))
		_, _ = c.Write(bytes.Repeat([]byte("x"), 10))
		_ = c.Close()
	}()
	if _, err := control.TakeOver(t.Context(), path); err == nil {
		t.Error("it was believed")
	}
}
