// Package table is the contract between the control plane and the data plane:
// the route table, what the data plane reports back, and the version of the
// protocol between them.
//
// The control plane pushes whole tables with PUT /v1/tables/{owner} on the data
// plane's Unix socket. The data plane writes a table to disk durably, swaps it
// in, and only then answers with an [Ack]. GET /v1/report streams one [Report]
// a line (newline-delimited JSON): one at once, then one whenever something in
// it changed. GET /v1/hello answers [Hello]. PUT /v1/cluster has the data plane reach the
// targets that are on other nodes; see [Cluster].
package table

import "time"

// Protocol is the version of this contract. A side that meets another one
// refuses it by name.
const Protocol = 1

// Owner says whose table it is. Tables of several owners are merged; a host
// and path prefix claimed by two is refused at the second push.
type Owner string

// The owners there are.
const (
	OwnerServer  Owner = "server"
	OwnerBackend Owner = "backend"
)

// Table is all routes of one owner.
type Table struct {
	Protocol int   `json:"protocol"`
	Owner    Owner `json:"owner"`
	// Version grows with every change; a push of a lower one is refused, of
	// the same one with the same routes is acknowledged again (BootID and
	// EngineStart may differ: the owner has looked again after a reboot).
	Version int64 `json:"version"`
	// BootID is the machine's boot id and EngineStart the engine's start as the
	// owner saw them. When the data plane starts alone and finds another boot
	// id, addresses may belong to somebody else by now: it holds requests until
	// the owner has pushed again.
	BootID      string  `json:"boot_id"`
	EngineStart string  `json:"engine_start"`
	Routes      []Route `json:"routes"`
}

// Route sends requests of some hosts below a path prefix to targets.
type Route struct {
	Service string   `json:"service"` // full service name; unique in a table
	Hosts   []string `json:"hosts"`   // lower case, without a port
	Path    string   `json:"path"`    // prefix, "/" for all; the longest wins
	Targets []Target `json:"targets"` // none: requests are held
	// HoldTimeout bounds how long a request waits for a target that takes it;
	// 0: it is not held but answered 503 at once.
	HoldTimeout time.Duration `json:"hold_timeout"`
	// DrainTimeout bounds how long what is in flight on a removed target may
	// go on before the data plane ends it; 0: it is ended at once.
	DrainTimeout time.Duration `json:"drain_timeout"`
	MaxBodyBytes int64         `json:"max_body_bytes"` // 0: the data plane's default
}

// Target is one address that serves a route.
type Target struct {
	ID      string `json:"id"`      // container name; unique over all tables
	Address string `json:"address"` // "10.210.0.5:8080"
	Weight  int    `json:"weight"`  // share against its siblings; 0 means 1
	// Node is the id of the node through whose agent the address is reached; "" is this
	// machine. One address on two nodes is two targets.
	Node string `json:"node,omitempty"`
}

// Ack says that a table is on disk and in use.
type Ack struct {
	Epoch   string `json:"epoch"`
	Owner   Owner  `json:"owner"`
	Version int64  `json:"version"`
}

// Hello identifies a running data plane.
type Hello struct {
	Protocol  int       `json:"protocol"`
	Epoch     string    `json:"epoch"` // new with each process
	PID       int       `json:"pid"`
	Started   time.Time `json:"started"`
	Build     string    `json:"build"`
	Listeners []string  `json:"listeners"` // "http://0.0.0.0:80"
}

// Report is what the data plane knows now.
type Report struct {
	Epoch    string           `json:"epoch"`
	Versions map[Owner]int64  `json:"versions"`
	Targets  []TargetReport   `json:"targets"` // those in a table or still draining
	Holding  map[string]int   `json:"holding"` // service -> requests held now
	Failed   map[string]int64 `json:"failed"`  // service -> requests answered 5xx by the data plane itself
	// Cluster is what it knows of nodes; nil when it was never told of any.
	Cluster *ClusterReport `json:"cluster,omitempty"`
}

// TargetReport is one target's traffic.
type TargetReport struct {
	ID       string `json:"id"`
	Service  string `json:"service"`
	InFlight int    `json:"in_flight"` // requests and open WebSocket or SSE streams
	// Draining is set once the target has left the table; DrainingSince is
	// then the moment of the swap. The report drops the target once it is
	// draining and nothing is in flight.
	Draining      bool      `json:"draining,omitempty"`
	DrainingSince time.Time `json:"draining_since,omitzero"`
}
