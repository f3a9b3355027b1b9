package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// BenchmarkProxy compares the proxy with httputil.ReverseProxy over the standard
// transport, and both with no proxy at all. Client and target are as cheap as
// they can be, and cpu-ns/op is the time of the whole process in user and kernel
// mode, so a proxy's own cost is its figure less the direct one.
func BenchmarkProxy(b *testing.B) {
	for _, body := range []int{1 << 10, 64 << 10} {
		target := cannedTarget(b, body)
		for _, c := range []struct {
			name    string
			address func(*testing.B) string
		}{
			{"direct", func(*testing.B) string { return target }},
			{"berth", func(b *testing.B) string { return berthInFront(b, target) }},
			{"reverseproxy", func(b *testing.B) string { return reverseProxyInFront(b, target) }},
		} {
			for _, method := range []string{"GET", "POST"} {
				if method == "POST" && body > 1<<10 {
					continue // what is posted is small; the response's size is the GET's matter
				}
				b.Run(fmt.Sprintf("%s/%s/%dKiB", c.name, method, body>>10), func(b *testing.B) {
					load(b, c.address(b), method)
				})
			}
		}
	}
}

func berthInFront(b *testing.B, target string) string {
	r := newRig(b, func(c *Config) { c.SlowAfter = 0 })
	r.serve(target)
	return r.addr
}

func reverseProxyInFront(b *testing.B, target string) string {
	u := &url.URL{Scheme: "http", Host: target}
	tr := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	p := &httputil.ReverseProxy{
		Rewrite:    func(r *httputil.ProxyRequest) { r.SetURL(u); r.SetXForwarded(); r.Out.Host = r.In.Host },
		Transport:  tr,
		BufferPool: buffers{},
		ErrorLog:   log.New(io.Discard, "", 0),
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	b.Cleanup(func() { _ = s.Close(); tr.CloseIdleConnections() })
	return l.Addr().String()
}

// buffers gives ReverseProxy what its own default lacks.
type buffers struct{}

func (buffers) Get() []byte  { return *copyBufs.Get().(*[]byte) }
func (buffers) Put(b []byte) { copyBufs.Put(&b) }

// cannedTarget answers every request with the same bytes. It looks for the end
// of the head only; a POST's body must come with it.
func cannedTarget(b *testing.B, body int) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	answer := []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nCache-Control: no-store\r\nX-Request-Cost: 12\r\nContent-Length: %d\r\n\r\n%s", body, strings.Repeat("x", body)))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				buf := make([]byte, 16<<10)
				n := 0
				for {
					k, err := c.Read(buf[n:])
					if err != nil {
						return
					}
					n += k
					if end := bytes.Index(buf[:n], []byte("\r\n\r\n")); end < 0 || (buf[0] == 'P' && n < end+4+len(posted)) {
						continue
					}
					n = 0
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

const posted = `{"some":"json","of":"a usual size","for":"an API call"}`

func cannedRequest(method string) []byte {
	s := method + " /api/v1/items?page=2 HTTP/1.1\r\nHost: app.test\r\nUser-Agent: bench/1.0\r\nAccept: */*\r\nAccept-Encoding: gzip\r\nCookie: session=0123456789abcdef0123456789abcdef\r\n"
	if method == "POST" {
		s += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(posted), posted)
	} else {
		s += "\r\n"
	}
	return []byte(s)
}

// load sends b.N requests over a few keep-alive connections.
func load(b *testing.B, address, method string) {
	b.ReportAllocs()
	b.SetParallelism(4)
	req := cannedRequest(method)
	before := cpuTime(b)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		br := bufio.NewReaderSize(c, 16<<10)
		for pb.Next() {
			if _, err := c.Write(req); err != nil {
				b.Error(err)
				return
			}
			if err := skipResponse(br); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// skipResponse reads a response with a length and throws it away.
func skipResponse(br *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.Contains(line, []byte(" 200 ")) {
			return fmt.Errorf("answer %q", line)
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if _, err := fmt.Sscanf(string(v), "%d", &length); err != nil {
				return err
			}
		}
		if len(line) == 2 {
			break
		}
	}
	_, err := br.Discard(length)
	return err
}

func cpuTime(b *testing.B) time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// BenchmarkPick is the choice among many targets.
func BenchmarkPick(b *testing.B) {
	p := New(Config{Log: slog.New(slog.DiscardHandler)})
	defer p.Close()
	for _, n := range []int{1, 3, 100} {
		rt := &route{}
		for i := range n {
			rt.targets = append(rt.targets, candidate{newTarget(p, targetKey{fmt.Sprint(i), "", ""}), 1})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if rt.pick(nil, 0) == nil {
					b.Fatal("nothing picked")
				}
			}
		})
	}
}

// BenchmarkSwap is a table of many routes taking the place of an equal one.
func BenchmarkSwap(b *testing.B) {
	p := New(Config{Log: slog.New(slog.DiscardHandler)})
	defer p.Close()
	var t table.Table
	for i := range 1000 {
		t.Routes = append(t.Routes, table.Route{Service: fmt.Sprint("s", i), Hosts: []string{fmt.Sprint("h", i)}, Path: "/",
			Targets: []table.Target{{ID: fmt.Sprint("c", i), Address: fmt.Sprintf("10.0.%d.%d:80", i/250, 1+i%250), Weight: 1}}})
	}
	for b.Loop() {
		p.Swap(Owned{Table: t})
	}
}
