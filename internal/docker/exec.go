package docker

import "io"

// ExecSpec is a command to run inside a running container.
type ExecSpec struct {
	Command    []string // the program and its arguments; no shell
	Env        []EnvVar // on top of the container's; the bounds are those of ContainerSpec.Env
	User       string   // "" is the container's
	WorkingDir string   // "" is the container's

	// TTY gives the command a terminal: one stream for both outputs, which
	// Stdout receives, with the terminal's line ends.
	TTY bool
	// Stdin feeds the command and is closed for it once the reader ends; nil
	// attaches none. A Read that blocks does not keep Exec from returning: it
	// may outlive the call until it returns, and what it then read is lost.
	Stdin io.Reader
	// Stdout and Stderr receive the outputs, one Write at a time each and none
	// after Exec returned; nil discards. A Write that blocks holds the command
	// and Exec.
	Stdout, Stderr io.Writer
	// Resize gives the size of the terminal, at any time; the first one may
	// wait in the channel. It is read until Exec returns; nil, or no TTY,
	// leaves the size to the engine.
	Resize <-chan TermSize
}

// TermSize is the size of a terminal, in characters.
type TermSize struct{ Width, Height uint16 }
