package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxFrame bounds the JSON of one frame, in bytes.
const MaxFrame = 64 << 10

// frameHead is the length before each message, big-endian.
const frameHead = 4

var (
	// ErrFrame: what came is no frame: empty, too long, or not JSON of its kind.
	ErrFrame = errors.New("not a frame of this protocol")
	// ErrFrameSize: the frame is longer than MaxFrame. It is an ErrFrame as well.
	ErrFrameSize = fmt.Errorf("%w: longer than %d bytes", ErrFrame, MaxFrame)
)

// WriteFrame sends one message in a single Write. Errors: ErrFrameSize, and the writer's.
func WriteFrame(w io.Writer, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("write a frame: %w", err)
	}
	if len(body) > MaxFrame {
		return ErrFrameSize
	}
	frame := make([]byte, frameHead, frameHead+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(body)))
	_, err = w.Write(append(frame, body...))
	return err
}

// ReadFrame reads one message. It takes from r exactly the frame's bytes, and no memory
// for a frame that is too long. io.EOF is an end between two frames. Errors: ErrFrame,
// ErrFrameSize, io.ErrUnexpectedEOF, and the reader's.
func ReadFrame(r io.Reader, message any) error {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	switch {
	case size == 0:
		return fmt.Errorf("%w: it is empty", ErrFrame)
	case size > MaxFrame:
		return ErrFrameSize
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	// What the other side wrote is not repeated: it may be long, and ends in a log.
	if err := json.Unmarshal(body, message); err != nil {
		return fmt.Errorf("%w: its JSON does not fit", ErrFrame)
	}
	return nil
}
