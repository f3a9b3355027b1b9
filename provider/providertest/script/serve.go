package script

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// listen serves from now on:
//
//	GET /          the hostname
//	GET /healthz   200, or 503 after the step "unhealthy"
//	GET /do?step=  takes the steps in order; what they print is the answer, with
//	               status 200, or 500 and the error of the one that failed
func (r *runner) listen(_ output, arg string) error {
	port, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	l, err := r.Listen(port)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _ = say(w, r.Hostname()) })
	mux.HandleFunc("GET /healthz", r.health)
	mux.HandleFunc("GET /do", r.do)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	r.atEnd(func(killed bool) {
		ctx, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		if killed || srv.Shutdown(ctx) != nil {
			_ = srv.Close()
		}
		<-done
	})
	return nil
}

func (r *runner) health(w http.ResponseWriter, _ *http.Request) {
	if r.unhealthy.Load() {
		http.Error(w, "unhealthy", http.StatusServiceUnavailable)
		return
	}
	_ = say(w, "ok")
}

func (r *runner) do(w http.ResponseWriter, req *http.Request) {
	var said bytes.Buffer
	for _, step := range req.URL.Query()["step"] {
		to := output{&said, &said}
		if printing(step) {
			to = output{r.Stdout(), r.Stderr()}
		}
		if err := r.perform(to, step); err != nil {
			http.Error(w, step+": "+err.Error(), http.StatusInternalServerError)
			return
		}
	}
	_, _ = w.Write(said.Bytes())
}

// printing reports whether a step of a request shall print to the container's
// streams: it is about them.
func printing(step string) bool {
	for _, name := range []string{"out:", "err:", "lines:", "long:"} {
		if strings.HasPrefix(step, name) {
			return true
		}
	}
	return false
}
