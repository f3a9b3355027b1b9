package logstream

import "github.com/berth-cloud/berth/internal/docker/logread"

// Query selects lines.
type Query = logread.Query[Origin]

// Origin is where a line comes from.
type Origin struct {
	Service string
	Replica int
}

// line is one line with where it comes from.
type line = logread.Line[Origin]
