package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"pgregory.net/rapid"
)

// echo is a WebSocket backend that returns every message and delivers how its
// connection ended.
func echo(t testing.TB) (ended <-chan error, address string) {
	ch := make(chan error, 16)
	a := backend(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionContextTakeover})
		if err != nil {
			ch <- err
			return
		}
		defer func() { _ = c.CloseNow() }()
		c.SetReadLimit(16 << 20)
		for {
			kind, msg, err := c.Read(context.WithoutCancel(r.Context()))
			if err == nil {
				err = c.Write(context.WithoutCancel(r.Context()), kind, msg)
			}
			if err != nil {
				ch <- err
				return
			}
		}
	})
	return ch, a
}

func (r *rig) websocket() *websocket.Conn {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws://"+r.addr+"/ws", &websocket.DialOptions{
		Host: "app.test", CompressionMode: websocket.CompressionContextTakeover, HTTPClient: r.client,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	c.SetReadLimit(16 << 20)
	r.t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func exchangeMessage(t testing.TB, c *websocket.Conn, msg []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageBinary, msg); err != nil {
		t.Fatal(err)
	}
	_, got, err := c.Read(ctx)
	if err != nil || !bytes.Equal(got, msg) {
		t.Fatalf("echo of %d bytes: %d bytes, %v", len(msg), len(got), err)
	}
}

func TestAWebSocketPassesMessagesBothWaysAndCloses(t *testing.T) {
	r := newRig(t, nil)
	ended, a := echo(t)
	r.serve(a)
	c := r.websocket()
	for _, n := range []int{0, 1, 125, 126, 70_000, 1 << 20} {
		exchangeMessage(t, c, bytes.Repeat([]byte{byte(n)}, n))
	}
	r.waitInFlight(a, 1)
	if err := c.Close(websocket.StatusNormalClosure, "done"); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := receive(t, "the backend's end", ended); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("the backend saw %v, want a normal closure", err)
	}
	r.waitInFlight(a, 0)
}

func TestAWebSocketLivesThroughADrainAndGetsACloseFrameAtItsTimeout(t *testing.T) {
	r := newRig(t, nil)
	ended, old := echo(t)
	rt := routeTo("app", "app.test", "/", targets(old)...)
	rt.DrainTimeout = 400 * time.Millisecond
	r.swap(rt)
	c := r.websocket()
	exchangeMessage(t, c, []byte("before"))
	r.serve(backend(t, says("new")))
	exchangeMessage(t, c, []byte("while draining"))
	if tr, _ := r.report("c-" + old); tr.InFlight != 1 || !tr.Draining {
		t.Errorf("the report has %+v", tr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, _, err := c.Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the client saw %v, want close status 1001", err)
	}
	if err := receive(t, "the backend's end", ended); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the backend saw %v, want close status 1001", err)
	}
	until(t, "the target leaves the report", func() bool { _, there := r.report("c-" + old); return !there })
}

// rawSocket is a WebSocket backend that does what a test says, byte by byte.
func rawSocket(t testing.TB) (<-chan net.Conn, string) {
	ch := make(chan net.Conn, 8)
	a := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("hijack: %v", err)
			return
		}
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nEARLY")
		_ = rw.Flush()
		_ = c.SetDeadline(time.Now().Add(patience))
		t.Cleanup(func() { _ = c.Close() })
		ch <- c
	})
	return ch, a
}

const upgradeRequest = "GET / HTTP/1.1\r\nHost: app.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\n"

func (c *raw) switched() {
	c.t.Helper()
	res, err := http.ReadResponse(c.r, nil)
	if err != nil || res.StatusCode != 101 || res.Header.Get("Upgrade") != "websocket" || res.Header.Get("Sec-Websocket-Accept") != "x" {
		c.t.Fatalf("no upgrade: %+v, %v", res, err)
	}
}

func TestAFrameUnderWayIsCompletedBeforeTheCloseFrame(t *testing.T) {
	r := newRig(t, nil)
	conns, old := rawSocket(t)
	rt := routeTo("app", "app.test", "/", targets(old)...)
	rt.DrainTimeout = time.Millisecond
	r.swap(rt)
	c := r.raw().send(upgradeRequest)
	c.switched()
	expect(t, c.r, "EARLY") // a frame's first bytes: 'E' 'A': 65 bytes of payload follow
	b := receive(t, "the backend's connection", conns)
	defer func() { _ = b.Close() }()
	x := r.onlyExchange()
	r.swap()
	until(t, "the drain has ended the tunnel", func() bool { return x.ended.Load() })

	rest := bytes.Repeat([]byte("p"), 0x41-len("RLY"))
	if _, err := b.Write(append(rest, "\x81\x04next"...)); err != nil {
		t.Fatal(err)
	}
	expect(t, c.r, string(rest))
	var head [4]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil || head[0] != 0x88 || binary.BigEndian.Uint16(head[2:]) != 1001 {
		t.Fatalf("after the frame came % x, %v; want a close frame with 1001", head, err)
	}
	if _, err := c.r.Discard(int(head[1]) - 2); err != nil {
		t.Fatal(err)
	}
	// The target's side had no frame under way and was told at once, masked.
	if _, err := io.ReadFull(b, head[:2]); err != nil || head[0] != 0x88 || head[1]&0x80 == 0 {
		t.Fatalf("the target got % x, %v; want a masked close frame", head, err)
	}
	// Our close is answered; then both ends see the connection close.
	c.send("\x88\x82\x00\x00\x00\x00\x03\xe9")
	if !c.closed() {
		t.Error("the client's connection stays open after both close frames")
	}
	if _, err := b.Write([]byte("\x88\x02\x03\xe9")); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Logf("the target's answer: %v", err)
	}
	_, _ = io.Copy(io.Discard, b)
	until(t, "the target leaves the report", func() bool { _, there := r.report("c-" + old); return !there })
}

func TestAPeerThatIgnoresTheCloseFrameIsCutAfterTheGrace(t *testing.T) {
	r := newRig(t, func(c *Config) { c.EndGrace = 50 * time.Millisecond })
	conns, old := rawSocket(t)
	rt := routeTo("app", "app.test", "/", targets(old)...)
	rt.DrainTimeout = time.Millisecond
	r.swap(rt)
	c := r.raw().send(upgradeRequest)
	c.switched()
	b := receive(t, "the backend's connection", conns)
	defer func() { _ = b.Close() }()
	r.swap()
	until(t, "the target leaves the report", func() bool { _, there := r.report("c-" + old); return !there })
	_, _ = io.Copy(io.Discard, c.r)
	if !c.closed() {
		t.Error("the client's connection stays open")
	}
}

func TestAnotherProtocolIsTunnelledWithHalfClose(t *testing.T) {
	r := newRig(t, nil)
	r.serve(backend(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Upgrade") != "tcp" {
			http.Error(w, "no upgrade asked", http.StatusBadRequest)
			return
		}
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("hijack: %v", err)
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = rw.WriteString("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		_ = rw.Flush()
		sent, _ := io.ReadAll(rw) // until the client's half has ended
		_, _ = c.Write(append([]byte("got "), sent...))
	}))
	c := r.raw().send("POST / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\nhello")
	if res, err := http.ReadResponse(c.r, nil); err != nil || res.StatusCode != 101 {
		t.Fatalf("%+v, %v", res, err)
	}
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c.r); err != nil || string(b) != "got hello" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestARefusedUpgradeIsPassedOn(t *testing.T) {
	r := newRig(t, nil)
	r.serve(backend(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	if got := r.raw().send(upgradeRequest).response("GET"); got.StatusCode != 403 {
		t.Errorf("status %d, want 403", got.StatusCode)
	}
}

func TestASwitchThatWasNotAskedForIsABadGateway(t *testing.T) {
	r := newRig(t, nil)
	_, a := rawSocket(t)
	r.serve(a)
	for _, head := range []string{
		"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: app.test\r\nUpgrade: websocket\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
	} {
		if got := r.raw().send(head).response("GET"); got.StatusCode != 502 {
			t.Errorf("%q: status %d, want 502", head, got.StatusCode)
		}
	}
}

// frame is a WebSocket frame with n bytes of payload.
func frame(opcode byte, n int, masked bool) []byte {
	b := []byte{0x80 | opcode, 0}
	switch {
	case n < 126:
		b[1] = byte(n)
	case n < 1<<16:
		b[1] = 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] = 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	if masked {
		b[1] |= 0x80
		b = append(b, 1, 2, 3, 4)
	}
	return append(b, make([]byte, n)...)
}

func TestFrameBoundariesAreFoundHoweverTheStreamIsSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		ends := map[int]bool{0: true}
		closeAt := -1
		for range rapid.IntRange(1, 6).Draw(t, "frames") {
			op := rapid.SampledFrom([]byte{0, 1, 2, 8, 9, 10}).Draw(t, "opcode")
			n := rapid.OneOf(rapid.IntRange(0, 130), rapid.SampledFrom([]int{65535, 65536})).Draw(t, "size")
			stream = append(stream, frame(op, n, rapid.Bool().Draw(t, "masked"))...)
			ends[len(stream)] = true
			if op == 8 && closeAt < 0 {
				closeAt = len(stream)
			}
		}
		var f frames
		for at := 0; at < len(stream); {
			if f.atBoundary() != ends[at] {
				t.Fatalf("at %d: boundary %v, want %v", at, f.atBoundary(), ends[at])
			}
			n := rapid.IntRange(1, len(stream)-at).Draw(t, "piece")
			stop := rapid.Bool().Draw(t, "stop")
			got := f.scan(stream[at:at+n], stop)
			want := n
			if stop {
				for i := 1; i < n; i++ {
					if ends[at+i] {
						want = i
						break
					}
				}
			}
			if got != want {
				t.Fatalf("scan of %d bytes at %d (stop %v) went %d, want %d", n, at, stop, got, want)
			}
			at += got
			if f.sawClose != (closeAt >= 0 && at >= closeAt) {
				t.Fatalf("at %d: close frame seen %v, it ends at %d", at, f.sawClose, closeAt)
			}
		}
		if !f.atBoundary() {
			t.Fatal("no boundary at the end of the last frame")
		}
	})
}
