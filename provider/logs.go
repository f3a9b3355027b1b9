package provider

import "time"

// LogOptions picks what Logs streams.
type LogOptions struct {
	// ServiceName is the service; empty is main.
	ServiceName string `json:"service_name,omitempty"`

	// Follow keeps the stream open for what comes, over restarts and deploys.
	Follow bool `json:"follow"`

	// Since leaves out what is older.
	Since time.Time `json:"since,omitzero"`

	// Tail is how many of the last lines of each container to begin with; zero is
	// all of them.
	Tail int `json:"tail,omitempty"`

	// Replica is the index of one replica; nil is all of them.
	Replica *int `json:"replica,omitempty"`
}

// LogLine is one line of the stream that Logs returns, as a JSON object on a line
// of its own.
type LogLine struct {
	// Time is when the container wrote the line.
	Time time.Time `json:"time"`

	// Stream is LogStdout or LogStderr.
	Stream string `json:"stream"`

	Service string `json:"service"`
	Replica int    `json:"replica"`

	// Line is without its line end. Of a line longer than MaxLogLine bytes the
	// rest follows in lines of its own, and all but the last of them are Partial. Bytes that
	// are no UTF-8 are replaced.
	Line    string `json:"line"`
	Partial bool   `json:"partial,omitempty"`
}

// The streams of a LogLine.
const (
	LogStdout = "stdout"
	LogStderr = "stderr"
)

// MaxLogLine is the length in bytes up to which a line stays in one piece.
const MaxLogLine = 64 << 10
