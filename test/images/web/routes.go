package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	maxSlow = 10 * time.Minute
	maxData = 16 << 20
)

// site answers requests.
type site struct {
	settings
	streams context.Context // ends when streams and sockets shall end
	sockets sync.WaitGroup
	besides *http.Client
}

func (s *site) handler() http.Handler {
	if s.mode == modeError {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "this release answers everything with 500", http.StatusInternalServerError)
		})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.hello)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s.version+"\n") })
	mux.HandleFunc("GET /slow", s.slow)
	mux.HandleFunc("GET /status", s.status)
	mux.HandleFunc("GET /bytes", s.bytes)
	mux.HandleFunc("POST /echo", s.echo)
	mux.HandleFunc("GET /sse", s.events)
	mux.HandleFunc("GET /ws", s.socket)
	mux.HandleFunc("GET /headers", s.headers)
	mux.HandleFunc("GET /env", s.variable)
	mux.HandleFunc("POST /log", s.log)
	mux.HandleFunc("GET /data/{name}", s.readData)
	mux.HandleFunc("PUT /data/{name}", s.writeData)
	return s.signed(mux)
}

// signed says in every answer which version and which container gave it.
func (s *site) signed(next http.Handler) http.Handler {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Version", s.version)
		w.Header().Set("X-Served-By", host)
		next.ServeHTTP(w, r)
	})
}

func (s *site) hello(w http.ResponseWriter, r *http.Request) {
	if err := s.askBeside(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprintf(w, "%s, version %s\n", s.greeting, s.version)
}

// slow answers after ?ms= milliseconds, in two parts, so that a cut in the
// middle is seen as a truncated body.
func (s *site) slow(w http.ResponseWriter, r *http.Request) {
	ms, err := strconv.Atoi(r.URL.Query().Get("ms"))
	wait := time.Duration(ms) * time.Millisecond
	if err != nil || wait < 0 || wait > maxSlow {
		http.Error(w, "ms is a number of milliseconds, up to 600000", http.StatusBadRequest)
		return
	}
	const first, second = "slowly\n", "done\n"
	w.Header().Set("Content-Length", strconv.Itoa(len(first)+len(second)))
	io.WriteString(w, first)
	http.NewResponseController(w).Flush()
	if !pause(r.Context(), wait) {
		return
	}
	if err := s.askBeside(r.Context()); err != nil {
		fmt.Println("web:", err)
		panic(http.ErrAbortHandler) // the status has been sent
	}
	io.WriteString(w, second)
}

func (s *site) status(w http.ResponseWriter, r *http.Request) {
	code, err := strconv.Atoi(r.URL.Query().Get("code"))
	if err != nil || code < 200 || code > 599 {
		http.Error(w, "code is a status from 200 to 599", http.StatusBadRequest)
		return
	}
	w.WriteHeader(code)
}

// bytes answers with a body of ?n= bytes.
func (s *site) bytes(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n < 0 || n > 1<<30 {
		http.Error(w, "n is a number of bytes, up to 1 GiB", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(n))
	chunk := make([]byte, 32<<10)
	for i := range chunk {
		chunk[i] = byte('a' + i%26)
	}
	for n > 0 {
		m, err := w.Write(chunk[:min(n, len(chunk))])
		if err != nil {
			return
		}
		n -= m
	}
}

// echo gives the body back as it comes in, while it still comes in.
func (s *site) echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", cmp.Or(r.Header.Get("Content-Type"), "application/octet-stream"))
	c := http.NewResponseController(w)
	c.EnableFullDuplex()
	io.Copy(w, r.Body)
}

// headers shows the request as it arrived here.
func (s *site) headers(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "Host: %s\n", r.Host)
	r.Header.Write(w)
}

func (s *site) variable(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, s.env(r.URL.Query().Get("name")))
}

// log prints the body to standard output, or with ?stream=stderr to the other.
func (s *site) log(_ http.ResponseWriter, r *http.Request) {
	out := os.Stdout
	if r.URL.Query().Get("stream") == "stderr" {
		out = os.Stderr
	}
	io.Copy(out, io.LimitReader(r.Body, maxData))
}
