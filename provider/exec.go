package provider

import "io"

// ExecRequest is a command to run in a running container, given as arguments; no
// shell reads it.
type ExecRequest struct {
	Command []string `json:"command"`

	// Stdin is read to its end, or until the command ends; nil is an empty one.
	Stdin io.Reader `json:"-"`

	// TTY gives the command a terminal; both streams then come as Stdout.
	TTY bool `json:"tty"`

	// ServiceName is the service; empty is main.
	ServiceName string `json:"service_name,omitempty"`

	// Replica is the index of the replica; nil is the first that is ready, or
	// when none is the first that runs.
	Replica *int `json:"replica,omitempty"`

	// Env is added to the container's variables.
	Env map[string]string `json:"env,omitempty"`

	// User and WorkingDir are the container's when empty.
	User       string `json:"user,omitempty"`
	WorkingDir string `json:"working_dir,omitempty"`

	// Size is the terminal's first size; nil is the orchestrator's default.
	Size *TerminalSize `json:"size,omitempty"`

	// Resize delivers later sizes; it is read until it is closed or the command
	// ends.
	Resize <-chan TerminalSize `json:"-"`

	// Stdout and Stderr, when set, get the output as it comes, and ExecResult
	// carries none of that stream. A failing writer ends the call.
	Stdout io.Writer `json:"-"`
	Stderr io.Writer `json:"-"`
}

// TerminalSize is in characters.
type TerminalSize struct {
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
}

// ExecResult is how the command ended. A command that does not exist in the container
// has the exit code 127, one that cannot be executed 126, and one that a signal ended 128 and its number.
type ExecResult struct {
	ExitCode int `json:"exit_code"`

	// Stdout and Stderr are at most MaxExecOutput bytes each; Truncated says that
	// there was more.
	Stdout    []byte `json:"stdout"`
	Stderr    []byte `json:"stderr"`
	Truncated bool   `json:"truncated,omitempty"`
}

// MaxExecOutput bounds each stream that an ExecResult carries, in bytes. The
// command still runs to its end when it writes more.
const MaxExecOutput = 1 << 20

// Exit codes of commands that were not run.
const (
	ExitNotExecutable = 126
	ExitNotFound      = 127
)
