package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// exactReader gives size bytes of a reader, or fails before it gives the last of
// them: whoever is sent them never has a whole object of a wrong length.
type exactReader struct {
	ctx  context.Context
	from io.Reader
	left int64
	// err is why the object cannot be written, for the writer's answer.
	err error
}

func newExactReader(ctx context.Context, from io.Reader, size int64) *exactReader {
	return &exactReader{ctx: ctx, from: from, left: size}
}

func (r *exactReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.err = r.ctx.Err(); r.err != nil {
		return 0, r.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if r.left == 0 {
		// Of an empty object nothing was read yet.
		if r.err = r.atEnd(); r.err != nil {
			return 0, r.err
		}
		return 0, io.EOF
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	switch {
	case r.left > 0 && errors.Is(err, io.EOF):
		r.err = fmt.Errorf("%w: it ended %d bytes early", ErrSize, r.left)
	case err != nil && !errors.Is(err, io.EOF):
		r.err = err
	case r.left == 0:
		r.err = r.atEnd()
	}
	if r.err != nil {
		return 0, r.err
	}
	return n, nil
}

// atEnd makes sure that nothing follows.
func (r *exactReader) atEnd() error {
	var more [1]byte
	for range 100 {
		n, err := r.from.Read(more[:])
		switch {
		case n > 0:
			return fmt.Errorf("%w: it goes on after them", ErrSize)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}
