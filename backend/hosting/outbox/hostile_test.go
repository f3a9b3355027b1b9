package outbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/egress"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

// receiverOf answers each connection, of which the request was read, with a function.
func receiverOf(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				_, _ = conn.Read(make([]byte, 4<<10))
				answer(conn)
			})
		}
	})
	t.Cleanup(func() { ln.Close(); running.Wait() })
	return "http://" + ln.Addr().String() + "/cb?token=hush"
}

// on writes text again and again, until the other end is gone.
func on(conn net.Conn, text string, sent *atomic.Int64, pause time.Duration) {
	if text == "" {
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	for sent.Load() < 256<<20 {
		n, err := io.WriteString(conn, text)
		sent.Add(int64(n))
		if err != nil {
			return
		}
		<-time.After(pause)
	}
}

func TestWhatAHostileReceiverAnswersTakesBoundedTimeAndMemory(t *testing.T) {
	big := strings.Repeat("x", 64<<10)
	for name, c := range map[string]struct {
		head, unit string
		pause      time.Duration
		acked      bool // by its status, whatever follows
	}{
		"no answer":                   {"", "", time.Second, false},
		"a status without an end":     {"HTTP/1.1 200 ", big, 0, false},
		"headers without an end":      {"HTTP/1.1 200 OK\r\n", "X-A: " + big[:1000] + "\r\n", 0, false},
		"headers that drip":           {"HTTP/1.1 200 OK\r\n", "X-A: b\r\n", time.Millisecond, false},
		"first answers without end":   {"", "HTTP/1.1 103 Early Hints\r\n\r\n", 0, false},
		"a body without an end":       {"HTTP/1.1 200 OK\r\n\r\n", big, 0, true},
		"a body that drips":           {"HTTP/1.1 200 OK\r\n\r\n", "x", 10 * time.Millisecond, true},
		"chunks without an end":       {"HTTP/1.1 202 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", 0, true},
		"a refusal without an end":    {"HTTP/1.1 500 No\r\n\r\n", big, 0, false},
		"a redirect without an end":   {"HTTP/1.1 307 There\r\nLocation: http://169.254.169.254/\r\n\r\n", big, 0, false},
		"another protocol":            {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", big, 0, false},
		"a status of five digits":     {"HTTP/1.1 20000 OK\r\n\r\n", "", time.Second, false},
		"a status that is no success": {"HTTP/1.1 199 OK\r\nContent-Length: 0\r\n\r\n", "", time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			url := receiverOf(t, func(conn net.Conn) {
				_, _ = io.WriteString(conn, c.head)
				on(conn, c.unit, &sent, c.pause)
			})
			client := egress.Client(egress.Policy{AllowLoopback: true}, 500*time.Millisecond)
			defer client.CloseIdleConnections()
			var log bytes.Buffer
			o := newOutbox(t, provider.NewMemoryStore(), time.Now, nil, func(cfg *outbox.Config) {
				cfg.Client, cfg.Logger = client, slog.New(slog.NewTextHandler(&log, nil))
			})
			if err := o.Add(t.Context(), lease, url, "op", failedWith("x")); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			step(t, o)
			s, err := o.Look(t.Context(), lease)
			if took := time.Since(began); err != nil || took > 10*time.Second || sent.Load() > 64<<20 {
				t.Errorf("it took %v and %d bytes: %v", took, sent.Load(), err)
			}
			if (s.Pending == 0) != c.acked {
				t.Errorf("acknowledged is %+v", s)
			}
			if strings.Contains(log.String()+s.Failure, "hush") || log.Len() > 4096 {
				t.Errorf("logged is %.500s", &log)
			}
		})
	}
}

func TestACallbackToTheInsideIsKeptAndNeverSent(t *testing.T) {
	var reached atomic.Int64
	url := receiverOf(t, func(net.Conn) { reached.Add(1) })
	port := url[strings.LastIndex(url, ":"):]
	client := egress.Client(egress.Policy{}, 0)
	defer client.CloseIdleConnections()
	for i, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "0x7f000001", "2130706433", "0.0.0.0", "[::]", "169.254.169.254", "127.1"} {
		o := newOutbox(t, provider.NewMemoryStore(), time.Now, nil, func(cfg *outbox.Config) { cfg.Client = client })
		if err := o.Add(t.Context(), lease, "http://"+host+port, fmt.Sprint(i), failedWith("x")); err != nil {
			t.Fatal(err)
		}
		step(t, o)
		if s, err := o.Look(t.Context(), lease); err != nil || s.Pending != 1 || s.Failure != "the address may not be dialled" {
			t.Errorf("%s: %+v, %v", host, s, err)
		}
	}
	if reached.Load() != 0 {
		t.Errorf("%d connections came inside", reached.Load())
	}
}

func TestWhatIsAddedMayBeHostile(t *testing.T) {
	o := newOutbox(t, provider.NewMemoryStore(), time.Now, newHolder(t, time.Now), nil)
	for name, c := range map[string]struct {
		lease, url, op string
		status         backend.CallbackStatus
	}{
		"a lease that leads elsewhere":     {"../../../../../../../../../etc/pas", target, "op", "failed"},
		"a lease with a slash":             {"018f3c1e/7b2a/7c4d/9e5f/0123456789ab", target, "op", "failed"},
		"a lease in braces":                {"{" + lease + "}", target, "op", "failed"},
		"a lease without hyphens":          {strings.ReplaceAll(lease, "-", ""), target, "op", "failed"},
		"a lease of a megabyte":            {strings.Repeat("a", 1<<20), target, "op", "failed"},
		"an operation with a line's end":   {lease, target, "a\nb", "failed"},
		"an operation that is not ASCII":   {lease, target, "é", "failed"},
		"an operation of a megabyte":       {lease, target, strings.Repeat("a", 1<<20), "failed"},
		"a status that there is not":       {lease, target, "op", "ready"},
		"a URL with a user":                {lease, "https://u:p@holder.example/", "op", "failed"},
		"a URL of another kind":            {lease, "file:///etc/passwd", "op", "failed"},
		"a URL with a line's end":          {lease, "https://holder.example/\r\nX: y", "op", "failed"},
		"a URL of a megabyte":              {lease, "https://holder.example/" + strings.Repeat("a", 1<<20), "op", "failed"},
		"a URL that is not one":            {lease, "://", "op", "failed"},
		"a URL without a host":             {lease, "https:///cb", "op", "failed"},
		"a URL whose host is in the query": {lease, "https:?//holder.example", "op", "failed"},
	} {
		p := failedWith("x")
		p.Status = c.status
		if err := o.Add(t.Context(), c.lease, c.url, c.op, p); !errors.Is(err, outbox.ErrInvalid) || len(err.Error()) > 512 {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	if waiting, err := o.Pending(t.Context()); err != nil || len(waiting) != 0 {
		t.Errorf("there wait %v, %v", waiting, err)
	}
}
