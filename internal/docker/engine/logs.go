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
// Engines before version 23 end a followed log a moment before its end, so
// what they left out is read once more without following.
func (c *Client) Logs(ctx context.Context, name string, opts docker.LogOptions, fn func(docker.LogLine) error) error {
	what := "read log of container " + name
	if err := c.negotiate(ctx); err != nil {
		return c.failSlow(what, err)
	}
	if !opts.Follow {
		return c.readLog(ctx, what, name, opts, fn)
	}
	var seen delivered
	err := c.readLog(ctx, what, name, opts, func(line docker.LogLine) error {
		seen.note(line)
		return fn(line)
	})
	if err != nil {
		return err
	}
	err = c.readLog(ctx, what, name, seen.rest(opts), func(line docker.LogLine) error {
		if seen.covers(line) {
			return nil
		}
		return fn(line)
	})
	if gone(err) {
		return nil
	}
	return err
}

// readLog reads one answer of the engine to its end.
func (c *Client) readLog(ctx context.Context, what, name string, opts docker.LogOptions, fn func(docker.LogLine) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := c.cli.ContainerLogs(ctx, name, logOptions(opts))
	if err != nil {
		return c.failSlow(what, err)
	}
	defer body.Close()

	var stopped error
	err = readLog(body, !opts.Follow, func(line docker.LogLine) error {
		stopped = fn(line)
		return stopped
	})
	switch {
	case stopped != nil:
		return stopped
	case ctx.Err() != nil:
		// Cancelling closes the body, which reads as some other error or as
		// an end.
		return c.failSlow(what, ctx.Err())
	case err != nil:
		return c.failSlow(what, err)
	}
	return nil
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
// only when complete says that nothing is missing.
func readLog(r io.Reader, complete bool, fn func(docker.LogLine) error) error {
	buffered := bufio.NewReaderSize(r, readBuffer)
	first, err := buffered.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case first[0] <= byte(stdcopy.Systemerr):
		return readFrames(buffered, complete, fn)
	}
	return readRaw(buffered, complete, fn)
}

// readFrames reads the log of a container without a terminal: frames of two
// streams, one log entry each.
func readFrames(r *bufio.Reader, complete bool, fn func(docker.LogLine) error) error {
	stdout := newAssembler(docker.Stdout, fn)
	stderr := newAssembler(docker.Stderr, fn)
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
func readRaw(r *bufio.Reader, complete bool, fn func(docker.LogLine) error) error {
	out := newAssembler(docker.Stdout, fn)
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
