package cli

import (
	"context"
	"io"
	"time"
)

// Env is the outside of the command line.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdinTTY and StdoutTTY say whether somebody is there to answer and read.
	StdinTTY, StdoutTTY bool
	// Terminal is the one that standard input is, nil where there is none.
	Terminal Terminal
	// Width is the terminal's width now, in columns; nil: 80.
	Width func() int
	// NoColor is set when NO_COLOR is, to anything.
	NoColor bool
	// Socket is BERTH_SOCKET, and BackendSocket BERTH_BACKEND_SOCKET; "" means the
	// default.
	Socket, BackendSocket string
	Version               string
	Now                   func() time.Time
}

// Terminal is where somebody types.
type Terminal interface {
	// Raw makes every key arrive as it is pressed, and nothing appear but what is
	// written, until restore.
	Raw() (restore func(), err error)
	// Size is in characters; zero where it is not known.
	Size() (width, height uint16)
	// Changes delivers a value after the size has changed, and is closed once ctx
	// is done.
	Changes(ctx context.Context) <-chan struct{}
	// Hidden reads a line without showing it.
	Hidden() ([]byte, error)
}

func (e Env) width() int {
	if e.Width == nil {
		return 80
	}
	return max(e.Width(), 20)
}
