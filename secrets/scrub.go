package secrets

import (
	"io"
	"sync"
)

// Scrubber replaces given values by Redacted in what passes through it: a second
// net behind Secret, for the output of programs that print what they were given.
//
// It finds a value as it is, without the white space around it, as JSON and Go
// quote it, as a URL escapes it and in base64, also in the middle of more base64.
// Of a value of several lines it finds each line of 8 bytes and more, and of one
// longer than 64 bytes any aligned 64 of them, so that a part does not pass either. It cannot find what a program
// derives from a value. Values shorter than 4 bytes are left alone, since they
// are in every text, and of one longer than 16 KiB that much is looked for.
//
// A Scrubber does not change and may be shared.
type Scrubber struct{ found *matcher }

// NewScrubber makes a scrubber for the values. Too many of them, above about
// 100 KiB together, are ErrTooLarge.
func NewScrubber(values ...Secret) (*Scrubber, error) {
	found := newMatcher()
	for _, v := range values {
		for _, form := range forms(v.bytes()) {
			if err := found.add(form); err != nil {
				return nil, err
			}
		}
	}
	found.link()
	return &Scrubber{found}, nil
}

// Scrub is what passes through w with the values replaced. See Scrubber.
func Scrub(w io.Writer, values ...Secret) (*ScrubWriter, error) {
	s, err := NewScrubber(values...)
	if err != nil {
		return nil, err
	}
	return s.Writer(w), nil
}

// String returns the text with the values replaced.
func (s *Scrubber) String(text string) string { return string(s.Bytes([]byte(text))) }

// Bytes returns the text with the values replaced.
func (s *Scrubber) Bytes(text []byte) []byte {
	p := pass{found: s.found}
	out := p.feed(make([]byte, 0, len(text)), text)
	return p.end(out)
}

// Writer returns a writer that scrubs what goes to w.
func (s *Scrubber) Writer(w io.Writer) *ScrubWriter {
	return &ScrubWriter{w: w, pass: pass{found: s.found}}
}

// ScrubWriter scrubs a stream. A value is found also when it comes in several
// writes: what may be the start of one, at most as much as the longest pattern,
// waits for the next write or for Close. It is safe for concurrent use.
type ScrubWriter struct {
	mu   sync.Mutex
	w    io.Writer
	pass pass
	out  []byte
	err  error
}

var _ io.WriteCloser = (*ScrubWriter)(nil)

// scrubChunk is how much is scrubbed before it goes on.
const scrubChunk = 32 << 10

// Write scrubs p and writes what is certain to hold no value. After an error of
// the underlying writer each call returns that error.
func (w *ScrubWriter) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(p) > 0 && w.err == nil {
		part := p[:min(len(p), scrubChunk)]
		w.flush(w.pass.feed(w.out[:0], part))
		if w.err == nil {
			n += len(part)
		}
		p = p[len(part):]
	}
	return n, w.err
}

// Close writes what was held back. It does not close the underlying writer, and
// the ScrubWriter may be used again for another text.
func (w *ScrubWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.flush(w.pass.end(w.out[:0]))
	}
	return w.err
}

func (w *ScrubWriter) flush(out []byte) {
	w.out = out
	if len(out) == 0 {
		return
	}
	n, err := w.w.Write(out)
	if err == nil && n < len(out) {
		err = io.ErrShortWrite
	}
	w.err = err
}
