package storagetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing/iotest"

	"github.com/berth-cloud/berth/instances/storage"
)

func streams(e *env) {
	data := make([]byte, 6<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	for _, size := range []int{0, 1, 4096, len(data)} {
		// A source that cannot be read a second time, and gives little at once.
		src := iotest.HalfReader(bytes.NewReader(data[:size]))
		tag, err := e.s.PutStream(e.ctx, "a/stream", src, int64(size))
		if err != nil {
			e.Fatalf("put %d bytes: %v", size, err)
		}
		r, m, err := e.s.GetStream(e.ctx, "a/stream")
		if err != nil {
			e.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, data[:size]) {
			e.Errorf("read %d of %d bytes, %v", len(got), size, err)
		}
		if m.Key != "a/stream" || m.Size != int64(size) || m.Tag != tag || m.Modified.IsZero() {
			e.Errorf("described as %+v, written with tag %q", m, tag)
		}
		if err := r.Close(); err != nil {
			e.Error(err)
		}
		e.holds("a/stream", string(data[:size]))
	}
}

func streamSizes(e *env) {
	e.put("k", "before")
	for size, data := range map[int64]string{5: "four", 3: "four", 0: "x", 1: "", -1: "x"} {
		_, err := e.s.PutStream(e.ctx, "k", strings.NewReader(data), size)
		if !errors.Is(err, storage.ErrSize) || errors.Is(err, storage.ErrUnavailable) {
			e.Errorf("%q announced as %d bytes: %v", data, size, err)
		}
	}
	if _, err := e.s.PutStream(e.ctx, "k", strings.NewReader(""), storage.MaxStreamBytes+1); !errors.Is(err, storage.ErrTooLarge) {
		e.Errorf("a stream too large: %v", err)
	}
	e.holds("k", "before")
	e.lists("", "k")
}

var errSource = errors.New("the source broke")

func streamFails(e *env) {
	e.put("k", "before")
	for _, key := range []string{"k", "a/new"} {
		src := io.MultiReader(bytes.NewReader(make([]byte, 100<<10)), iotest.ErrReader(errSource))
		_, err := e.s.PutStream(e.ctx, key, src, 200<<10)
		if !errors.Is(err, errSource) || errors.Is(err, storage.ErrUnavailable) {
			e.Errorf("put %s: %v", key, err)
		}
	}
	// It fails after the last byte, when an end was expected.
	src := io.MultiReader(strings.NewReader("all of it"), iotest.ErrReader(errSource))
	if _, err := e.s.PutStream(e.ctx, "k", src, 9); !errors.Is(err, errSource) {
		e.Error(err)
	}
	e.holds("k", "before")
	e.gone("a/new")
	e.lists("", "k")
}

func streamStays(e *env) {
	old := strings.Repeat("old ", 1<<16)
	e.put("k", old)
	r, _, err := e.s.GetStream(e.ctx, "k")
	if err != nil {
		e.Fatal(err)
	}
	defer r.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		e.Fatal(err)
	}
	e.put("k", strings.Repeat("new ", 1<<16))
	rest, err := io.ReadAll(r)
	if err != nil || string(head)+string(rest) != old {
		e.Errorf("read %d of %d bytes of what was opened, %v", len(rest)+4, len(old), err)
	}
	if err := r.Close(); err != nil {
		e.Error(err)
	}
}

// endless is longer than what any part on the way can hold back.
const endless = 64 << 20

func streamContext(e *env) {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	src := io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), endsContext{cancel}, bytes.NewReader(make([]byte, endless)))
	if _, err := e.s.PutStream(ctx, "k", src, 1<<20+endless); !errors.Is(err, context.Canceled) {
		e.Errorf("a stream whose context ended: %v", err)
	}
	e.gone("k")

	if _, err := e.s.PutStream(e.ctx, "k", io.LimitReader(zeros{}, endless), endless); err != nil {
		e.Fatal(err)
	}
	ctx, cancel = context.WithCancel(e.ctx)
	defer cancel()
	r, _, err := e.s.GetStream(ctx, "k")
	if err != nil {
		e.Fatal(err)
	}
	defer r.Close()
	if _, err := io.CopyN(io.Discard, r, 10); err != nil {
		e.Fatal(err)
	}
	cancel()
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) {
		e.Errorf("%d bytes after the context ended, %v", n, err)
	}
}

// endsContext gives nothing, and ends a context when it is asked.
type endsContext struct{ cancel context.CancelFunc }

func (r endsContext) Read([]byte) (int, error) {
	r.cancel()
	return 0, io.EOF
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
