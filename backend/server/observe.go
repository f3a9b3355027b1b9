package server

import (
	"net/http"
	"strconv"
	"time"
)

// recorder knows with which status a request was answered.
type recorder struct {
	http.ResponseWriter
	code int
}

func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}

func (s *server) count(operation string, code int, took time.Duration) {
	if s.cfg.RequestsTotal != nil {
		s.cfg.RequestsTotal.WithLabelValues(operation, strconv.Itoa(code)).Inc()
	}
	if s.cfg.RequestDuration != nil {
		s.cfg.RequestDuration.WithLabelValues(operation).Observe(took.Seconds())
	}
}
