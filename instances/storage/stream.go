package storage

import (
	"context"
	"io"
)

// stream reads until its context ends.
type stream struct {
	ctx   context.Context
	r     io.Reader
	close func() error
}

var _ io.ReadCloser = (*stream)(nil)

func (s *stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

func (s *stream) Close() error { return s.close() }
