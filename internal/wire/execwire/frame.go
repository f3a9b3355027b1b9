package execwire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/internal/wire"
)

const (
	// MaxData bounds the payload of one frame of data, in bytes.
	MaxData = 32 << 10
	// MaxMessage bounds any message, in bytes: a Start with a long command.
	MaxMessage = 256 << 10
	// Window is how many bytes of data may be under way in one direction.
	Window = 256 << 10
	// Subprotocol is what both sides name when they open the WebSocket.
	Subprotocol = "berth-exec-1"
)

// Kind says what a frame is.
type Kind byte

// The kinds of frame.
const (
	Start    Kind = 'S' // JSON of StartRequest; the first frame, from the caller
	Stdin    Kind = 'i' // bytes of input, from the caller
	StdinEnd Kind = 'e' // nothing; no more input
	Resize   Kind = 'w' // width and height, two bytes each, most significant first
	Stdout   Kind = 'o' // bytes of output, from the daemon
	Stderr   Kind = 'r' // bytes of error output, from the daemon
	Credit   Kind = 'c' // four bytes, most significant first: so many bytes of data were taken
	Exit     Kind = 'x' // JSON of ExitReport; the last frame, from the daemon
)

// ErrProtocol: the other side sent what the protocol does not allow.
var ErrProtocol = errors.New("broken exec protocol")

// Frame is one message. Data of a parsed frame belongs to the message it was
// parsed from.
type Frame struct {
	Kind Kind
	Data []byte
}

// StartRequest says what to run. Where is in the path of the request.
type StartRequest struct {
	Command []string `json:"command"` // the program and its arguments
	TTY     bool     `json:"tty,omitempty"`
	Stdin   bool     `json:"stdin,omitempty"` // false: the command gets no input
	Width   uint16   `json:"width,omitempty"` // of the terminal, in characters
	Height  uint16   `json:"height,omitempty"`
}

// ExitReport is how a command ended.
type ExitReport struct {
	Code int `json:"code"`
	// Problem is set when the command did not run, or not to its end.
	Problem *wire.Problem `json:"problem,omitempty"`
}

// Encode makes the message of a frame.
func (f Frame) Encode() []byte {
	return append(append(make([]byte, 0, 1+len(f.Data)), byte(f.Kind)), f.Data...)
}

// Parse reads a message. An empty one, one that is too long or of no known kind
// is ErrProtocol.
func Parse(message []byte) (Frame, error) {
	if len(message) == 0 || len(message) > MaxMessage {
		return Frame{}, fmt.Errorf("%w: a message of %d bytes", ErrProtocol, len(message))
	}
	f := Frame{Kind: Kind(message[0]), Data: message[1:]}
	switch f.Kind {
	case Stdin, Stdout, Stderr:
		if len(f.Data) > MaxData {
			return Frame{}, fmt.Errorf("%w: %d bytes of data in one frame", ErrProtocol, len(f.Data))
		}
	case StdinEnd, Start, Exit:
	case Resize, Credit:
		if len(f.Data) != 4 {
			return Frame{}, fmt.Errorf("%w: frame %q has %d bytes", ErrProtocol, f.Kind, len(f.Data))
		}
	default:
		return Frame{}, fmt.Errorf("%w: no frame is of kind %q", ErrProtocol, f.Kind)
	}
	return f, nil
}

// JSONFrame is a frame that carries v, which must be of a type of this package.
func JSONFrame(kind Kind, v any) (Frame, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Frame{}, fmt.Errorf("encode frame %q: %w", kind, err)
	}
	return Frame{kind, data}, nil
}

// Decode reads the JSON of a frame into v.
func (f Frame) Decode(v any) error {
	if err := json.Unmarshal(f.Data, v); err != nil {
		return fmt.Errorf("%w: frame %q: %w", ErrProtocol, f.Kind, err)
	}
	return nil
}

// ResizeFrame says that the terminal has another size.
func ResizeFrame(width, height uint16) Frame {
	data := binary.BigEndian.AppendUint16(nil, width)
	return Frame{Resize, binary.BigEndian.AppendUint16(data, height)}
}

// Size reads a frame of kind Resize.
func (f Frame) Size() (width, height uint16) {
	return binary.BigEndian.Uint16(f.Data), binary.BigEndian.Uint16(f.Data[2:])
}

// CreditFrame says that n bytes of data were taken.
func CreditFrame(n int) Frame {
	return Frame{Credit, binary.BigEndian.AppendUint32(nil, uint32(min(max(n, 0), Window)))}
}

// Amount reads a frame of kind Credit.
func (f Frame) Amount() int { return int(binary.BigEndian.Uint32(f.Data)) }
