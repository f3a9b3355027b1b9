package egress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ways are how an address can be written into a URL, those included that resolvers and
// browsers take and Go does not.
func ways(a netip.Addr) []string {
	if a.Is6() {
		return []string{"[" + a.String() + "]", "[" + a.StringExpanded() + "]", "[" + strings.ToUpper(a.String()) + "]", "[" + a.String() + "%25lo]", "[" + a.String() + "%25]", "[" + a.String() + "]."}
	}
	b := a.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	p := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	return []string{
		a.String(), a.String() + ".", a.String() + "..", p("%d", n), p("0x%x", n), p("0X%X", n), p("0%o", n), p("00000%o", n), p("%d.%d", b[0], n&0xffffff), p("%d.%d.%d", b[0], b[1], n&0xffff),
		p("0x%x.0x%x.0x%x.0x%x", b[0], b[1], b[2], b[3]), p("0%o.0%o.0%o.0%o", b[0], b[1], b[2], b[3]), p("%03d.%03d.%03d.%03d", b[0], b[1], b[2], b[3]), p("0x%x.%d.0%o.%d", b[0], b[1], b[2], b[3]),
		p("%d.%d.%d.0x%x", b[0], b[1], b[2], b[3]), p("%d", uint64(n)+1<<32), p("[%s]", a), p("%d%%2e%d.%d.%d", b[0], b[1], b[2], b[3]), p("%d。%d。%d。%d", b[0], b[1], b[2], b[3]),
		p("%d.%d.%d.%d%%00.example", b[0], b[1], b[2], b[3]), p("%d.%d.%d.%d\\@example", b[0], b[1], b[2], b[3]), p("example@%s", a), p("example%%40%s", a), p("%s#@example", a), p("%s:80:80", a),
		p("[::ffff:%s]", a), p("[::ffff:%x:%x]", n>>16, n&0xffff), p("[0:0:0:0:0:ffff:%s]", a), p("[::%s]", a), p("[64:ff9b::%s]", a), p("[64:ff9b::%x:%x]", n>>16, n&0xffff), p("[64:ff9b:1::%s]", a),
		p("[2002:%x:%x::]", n>>16, n&0xffff), p("[2002:%x:%x::1]", n>>16, n&0xffff), p("[::ffff:0:%s]", a), p("[2a00::5efe:%x:%x]", n>>16, n&0xffff), p("[2a00::200:5efe:%x:%x]", n>>16, n&0xffff),
		p("[2001:0:%x:%x::]", n>>16, n&0xffff), p("[fe80::5efe:%x:%x]", n>>16, n&0xffff), p("[::ffff:%s%%25eth0]", a),
	}
}

func TestNoWayToWriteAnAddressLeadsInside(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "169.254.169.254", "169.254.0.1", "100.100.100.200", "168.63.129.16",
		"192.0.0.192", "224.0.0.1", "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fd00:ec2::254", "fc00::1", "ff02::1", "fec0::1", "2001:db8::1", "64:ff9b:1::1",
	} {
		for _, host := range ways(netip.MustParseAddr(text)) {
			for _, target := range []string{"http://" + host + "/", "https://" + host + ":8443/cb?a=b", "HTTP://" + host} {
				if strings.HasSuffix(host, ":80:80") && strings.Contains(target, ":8443") {
					continue
				}
				if u, err := (Policy{}).ParseTarget(target); err == nil || !errors.Is(err, ErrTarget) || u != nil {
					t.Errorf("%s is taken as %v, %v", target, u, err)
				}
			}
		}
	}
}

func TestWhatIsNoURLOfAReceiverIsRefused(t *testing.T) {
	for _, target := range []string{
		"http://a\tb.example/", "http://a.example\n/", " http://a.example/", "http:\\\\a.example/", "http:/a.example", "http:///a.example/", "//a.example/", "\x00http://a.example/",
		"gopher://a.example/", "dict://a.example/", "jar:http://a.example/", "data:text/plain,x", "javascript:x", "http+unix://%2frun/x", "http://a.example@b.example/", "http://:@a.example/", "http://@/",
		"http://a.example:00000000080000/", "http://a.example:-1/", "http://a.example:+80/", "http://a.example:8 0/", "http://a.example:0x50/", "http://a.example:１/", "http://[/", "http://]/", "http://[]/", "http://[a]/", "http://[::1/",
		"http://[::1]x/", "http://[::g]/", "http://1.2.3.4.5/", "http://1.2.3/", "http://999.1.1.1/", "http://0/", "http://0x/", "http://00/", "http://a.0x1/", "http://example.1/", "http://\xff/", "http://a\u200bb.example/",
		"http://a\u00adb.example/", "http://ａ.example/", "http://a%00b/", "http://a%0d%0aX:b/", "http://%61.example/", "http://a,b.example/", "http://a;b.example/", "http://a*b.example/", "http://~/", "http://a.example#", "http://a.example?#",
		"http://" + strings.Repeat("a", 2000) + "/", "http://" + strings.Repeat("a.", 1000) + "example/", "http://a.example/" + strings.Repeat("%41", 1000),
	} {
		if u, err := all.ParseTarget(target); err == nil || u != nil || !errors.Is(err, ErrTarget) || len(err.Error()) > 256 {
			t.Errorf("%.80q is taken as %v, %v", target, u, err)
		}
	}
}

// Whatever a name resolved to when it was judged, it is what it resolves to now.
func TestANameThatIsReboundManyTimesNeverLeadsInside(t *testing.T) {
	for name, c := range map[string]struct {
		policy  Policy
		answers [][]string
		reached int64 // of 20 requests, at most
	}{
		"by turns":                  {Policy{}, [][]string{{"192.0.2.1"}, {"127.0.0.1"}, {"169.254.169.254"}, {"0.0.0.0"}, {"127.0.0.2", "10.0.0.1"}}, 0},
		"once allowed, then inside": {local, [][]string{{"127.0.0.1"}, {"10.0.0.1"}, {"169.254.169.254"}, {"0.0.0.0"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			server := newCounted(t, nil)
			names := &script{answers: c.answers}
			client := newClient(&Dialer{Policy: c.policy, Resolver: names.resolver(t)}, time.Second, nil)
			client.Transport.(*guarded).to.DisableKeepAlives = true // a new connection each
			for range 20 {
				if resp, err := get(t, client, server.as(t, "holder.test")); err == nil {
					resp.Body.Close()
				}
			}
			if got := server.conns.Load(); got > c.reached {
				t.Errorf("%d connections came inside", got)
			}
		})
	}
}

func TestNoRedirectLeadsInsideWhateverItsStatus(t *testing.T) {
	inside := newCounted(t, nil)
	for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308, 399, 201, 200, 401, 503} {
		for _, to := range []string{inside.URL, "//" + inside.Listener.Addr().String(), "file:///etc/passwd", "\x01", strings.Repeat("a", 10_000)} {
			server := newCounted(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Location"] = []string{to}
				w.Header().Set("Refresh", "0; url="+inside.URL)
				w.Header().Set("Alt-Svc", `h2="`+inside.Listener.Addr().String()+`"`)
				w.WriteHeader(status)
			})
			resp, err := get(t, Client(local, 0), server.URL)
			if err == nil && resp.StatusCode != status {
				t.Errorf("%d to %.40q is %s", status, to, resp.Status)
			}
		}
	}
	if inside.conns.Load() != 0 {
		t.Errorf("%d connections came inside", inside.conns.Load())
	}
}

// listener answers each connection with what a function writes.
func listener(t *testing.T, answer func(net.Conn)) string {
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
				answer(conn)
			})
		}
	})
	t.Cleanup(func() { ln.Close(); running.Wait() })
	return "http://" + ln.Addr().String() + "/"
}

func flood(conn net.Conn, text string, sent *atomic.Int64, pause time.Duration) {
	for sent.Load() < 256<<20 {
		n, err := io.WriteString(conn, text)
		sent.Add(int64(n))
		if err != nil {
			return
		}
		<-time.After(pause)
	}
}

func TestAnAnswerThatFloodsOrDripsIsLeft(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct{ head, unit string }{
		"a status":       {"", "x"},
		"first answers":  {"", "HTTP/1.1 103 Early Hints\r\n\r\n"},
		"headers":        {ok, "X-A: bbbbbbbbbbbbbbbb\r\n"},
		"one header":     {ok + "X-A: ", "b"},
		"a body":         {ok + "\r\n", "body"},
		"chunks":         {ok + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
		"a chunk's size": {ok + "Transfer-Encoding: chunked\r\n\r\n", "0"},
		"a trailer":      {ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X-A: b\r\n"},
	} {
		for _, pause := range []time.Duration{0, time.Millisecond} {
			t.Run(fmt.Sprint(name, pause), func(t *testing.T) {
				t.Parallel()
				var sent atomic.Int64
				unit := c.unit
				if pause == 0 {
					unit = strings.Repeat(unit, 64<<10/len(unit))
				}
				target := listener(t, func(conn net.Conn) {
					_, _ = io.WriteString(conn, c.head)
					flood(conn, unit, &sent, pause)
				})
				began := time.Now()
				client := Client(local, 300*time.Millisecond)
				resp, err := get(t, client, target)
				if err == nil {
					var text []byte
					text, err = io.ReadAll(resp.Body)
					if int64(len(text)) > MaxBodyBytes {
						t.Errorf("%d bytes of the body are there", len(text))
					}
					resp.Body.Close()
				}
				if err == nil {
					t.Error("it is taken")
				}
				if took := time.Since(began); took > 10*time.Second || sent.Load() > 64<<20 {
					t.Errorf("it took %v and %d bytes", took, sent.Load())
				}
			})
		}
	}
}
