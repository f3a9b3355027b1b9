package wire

import (
	"slices"
	"time"
)

// MaxTail bounds how many lines of backlog a request for logs may count back.
const MaxTail = 10_000

// MaxLogMembers bounds how many members a request for logs may name.
const MaxLogMembers = 50

// MainMember is what the main container of every replica is called.
const MainMember = "main"

// LogQuery selects lines of the services of an app, over all of their
// releases and replicas.
type LogQuery struct {
	App     string
	Service string    // short name; empty: all services of the app
	Members []string  // "main", names of inits and sidecars; empty: all. At most MaxLogMembers
	Since   time.Time // zero: from the oldest line kept
	Tail    int       // last N lines of the backlog, at most MaxTail; 0 or less: all
	Follow  bool      // go on with new lines until the context is done
}

// Wants reports whether a query is for the lines of a member; none is the main
// container, which goes by the name of its service too.
func (q *LogQuery) Wants(service, member string) bool {
	switch {
	case len(q.Members) == 0:
		return true
	case member != "":
		return slices.Contains(q.Members, member)
	}
	return slices.Contains(q.Members, MainMember) || slices.Contains(q.Members, service)
}

// LogEntry is one line.
type LogEntry struct {
	Time      time.Time `json:"time"`
	Service   string    `json:"service" doc:"Short name."`
	Release   string    `json:"release,omitempty" doc:"Version, such as v3."`
	Replica   int       `json:"replica"`
	Member    string    `json:"member,omitempty" doc:"Which init or sidecar; none is the main container."`
	Container string    `json:"container"`
	Stream    string    `json:"stream" enum:"stdout,stderr"`
	Text      string    `json:"text"`
	Partial   bool      `json:"partial,omitempty" doc:"The line goes on in the next entry of this container."`
}

// The names of the events in a stream of logs.
const (
	EventLog   = "log"   // data: LogEntry; id: its time, RFC 3339 with nanoseconds
	EventEnd   = "end"   // the stream is complete; the last event
	EventError = "error" // data: Problem; the last event
)
