package cli

import (
	"io"
	"time"
)

// Env is the outside of the command line.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdinTTY and StdoutTTY say whether somebody is there to answer and read.
	StdinTTY, StdoutTTY bool
	// Width is the terminal's width now, in columns; nil: 80.
	Width func() int
	// NoColor is set when NO_COLOR is, to anything.
	NoColor bool
	// Socket is BERTH_SOCKET; "" means the default.
	Socket  string
	Version string
	Now     func() time.Time
}

func (e Env) width() int {
	if e.Width == nil {
		return 80
	}
	return max(e.Width(), 20)
}
