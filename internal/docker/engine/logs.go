package engine

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

const (
	frameHeader = 8
	// readBuffer is how much of a log is held at once, besides one line per
	// stream.
	readBuffer = 32 << 10
	// maxDaemonError bounds an error that the engine sends inside a log.
	maxDaemonError = 4 << 10
)

// Logs implements docker.Runtime.
//
// Two things that engines do are set right here. They count the entries of a
// long line as lines of the tail, so a tail is cut by this side. And before
// version 23 they end a followed log a moment before its end, so what they
// left out is read once more without following.
func (c *Client) Logs(ctx context.Context, name string, opts docker.LogOptions, fn func(docker.LogLine) error) error {
	r := &logReader{c: c, what: "read log of container " + name, name: name}
	if err := c.negotiate(ctx); err != nil {
		return c.fail(r.what, err)
	}
	var seen delivered
	if opts.Tail > 0 {
		lines, err := r.tail(ctx, opts)
		if err != nil {
			return err
		}
		for _, line := range lines {
			seen.note(line)
			if err := fn(line); err != nil {
				return err
			}
		}
		if !opts.Follow {
			return nil
		}
	}
	if !opts.Follow {
		_, err := r.read(ctx, opts, true, func(line entryLine) error { return fn(line.LogLine) })
		return err
	}
	if err := r.continued(ctx, opts, &seen, fn); err != nil {
		return err
	}
	opts.Follow = false
	if err := r.continued(ctx, opts, &seen, fn); !gone(err) {
		return err
	}
	return nil
}

// logReader reads the log of one container.
type logReader struct {
	c          *Client
	what, name string
}

// continued delivers what has not been delivered yet.
func (r *logReader) continued(ctx context.Context, opts docker.LogOptions, seen *delivered, fn func(docker.LogLine) error) error {
	before := *seen
	_, err := r.read(ctx, before.rest(opts), !opts.Follow, func(line entryLine) error {
		if before.covers(line.LogLine) {
			return nil
		}
		seen.note(line.LogLine)
		return fn(line.LogLine)
	})
	return err
}

// read reads one answer of the engine to its end and returns how many entries
// there were. A line that is open at the end is left out unless complete: then
// nothing more is coming.
func (r *logReader) read(ctx context.Context, opts docker.LogOptions, complete bool, fn func(entryLine) error) (int, error) {
	ctx, opened, cancel := r.c.opening(ctx)
	defer cancel()
	body, err := r.c.cli.ContainerLogs(ctx, r.name, logOptions(opts))
	if err != nil {
		return 0, r.c.failStream(ctx, r.what, err)
	}
	opened()
	defer body.Close()

	var stopped error
	entries, err := readLog(body, complete, func(line entryLine) error {
		stopped = fn(line)
		return stopped
	})
	switch {
	case stopped != nil:
		return entries, stopped
	case ctx.Err() != nil:
		// Cancelling closes the body, which reads as some other error or as
		// an end.
		return entries, r.c.failStream(ctx, r.what, ctx.Err())
	case err != nil:
		return entries, r.c.failSlow(r.what, err)
	}
	return entries, nil
}

func logOptions(opts docker.LogOptions) client.ContainerLogsOptions {
	// Timestamps are not a choice: they are also what tells entries apart.
	out := client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Timestamps: true, Follow: opts.Follow}
	if opts.Tail > 0 {
		out.Tail = strconv.Itoa(opts.Tail)
	}
	if !opts.Since.IsZero() {
		out.Since = filterTime(opts.Since)
	}
	if !opts.Until.IsZero() {
		out.Until = filterTime(opts.Until)
	}
	return out
}

// readLog reads either form in which an engine sends a log. The first byte
// tells which: a frame begins with the number of its stream, a raw log with a
// digit of its first timestamp. A line that is open at the end is delivered
// only when complete says that nothing is missing. It returns the number of
// entries.
func readLog(r io.Reader, complete bool, fn func(entryLine) error) (entries int, err error) {
	buffered := bufio.NewReaderSize(r, readBuffer)
	first, err := buffered.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		return 0, nil
	case err != nil:
		return 0, err
	case first[0] <= byte(stdcopy.Systemerr):
		err = readFrames(buffered, complete, &entries, fn)
	default:
		err = readRaw(buffered, complete, &entries, fn)
	}
	return entries, err
}

// readFrames reads the log of a container without a terminal: frames of two
// streams, one log entry each.
func readFrames(r *bufio.Reader, complete bool, entries *int, fn func(entryLine) error) error {
	stdout := newAssembler(docker.Stdout, entries, fn)
	stderr := newAssembler(docker.Stderr, entries, fn)
	chunk := make([]byte, readBuffer)
	var header [frameHeader]byte
	for {
		if _, err := io.ReadFull(r, header[:]); errors.Is(err, io.EOF) {
			if !complete {
				return nil
			}
			return errors.Join(stdout.end(), stderr.end())
		} else if err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint32(header[4:]))
		out := stdout
		switch stdcopy.StdType(header[0]) {
		case stdcopy.Stdin, stdcopy.Stdout:
		case stdcopy.Stderr:
			out = stderr
		case stdcopy.Systemerr:
			text, err := io.ReadAll(io.LimitReader(r, min(size, maxDaemonError)))
			return errors.Join(fmt.Errorf("the engine broke off: %s", text), err)
		default:
			return fmt.Errorf("log frame of unknown stream %d", header[0])
		}
		if err := feedFrame(r, size, chunk, out); err != nil {
			return err
		}
	}
}

// feedFrame passes one frame on piece by piece: its size is the engine's word
// and no reason to allocate that much.
func feedFrame(r *bufio.Reader, size int64, chunk []byte, out *assembler) error {
	for size > 0 {
		n, err := r.Read(chunk[:min(size, int64(len(chunk)))])
		if err := out.feed(chunk[:n]); err != nil {
			return err
		}
		if size -= int64(n); err != nil && size > 0 {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return out.entryEnd()
}

// readRaw reads the log of a container with a terminal: one stream, bare.
func readRaw(r *bufio.Reader, complete bool, entries *int, fn func(entryLine) error) error {
	out := newAssembler(docker.Stdout, entries, fn)
	out.terminal = true
	chunk := make([]byte, readBuffer)
	for {
		n, err := r.Read(chunk)
		if err := out.feed(chunk[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			if !complete {
				return nil
			}
			return out.end()
		} else if err != nil {
			return err
		}
	}
}
