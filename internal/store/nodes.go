package store

import (
	"context"
	"time"
)

// Node is what is kept of a node beside what its machine's record says: what people
// decided, and since when it is away. A node without a row is in use.
type Node struct {
	ID       string // the machine's instance id; "" is this machine
	Cordoned bool   // nothing new is placed on it
	// DrainingSince is when it was asked to be emptied, zero when nobody did; DrainBy is
	// when that has to be done, zero for no bound.
	DrainingSince time.Time
	DrainBy       time.Time
	// OfflineSince is when it was seen to be away, zero while it is connected.
	OfflineSince time.Time
	// Volumes are those with data that may be on it: what was there at CheckedAt, and what
	// was placed there since. Zero is that nobody has looked yet.
	Volumes   []string
	CheckedAt time.Time
}

// Placement says which nodes an app runs on.
type Placement struct {
	AppID string
	// Nodes has the node of replica n at n modulo its length; an app that is placed whole
	// has one. It is never empty.
	Nodes []string
	// Lost are nodes that are offline and were given up for this app: what of it may still
	// run there counts no more.
	Lost []string
	// Attempt is the newest of the app's attempts that this was decided for.
	Attempt   int64
	UpdatedAt time.Time
}

// NodeStore is where nodes and placements are kept.
type NodeStore interface {
	// Nodes lists all rows by id.
	Nodes(ctx context.Context) ([]Node, error)
	// SaveNode writes a row, or puts it in place of the one of its id.
	SaveNode(ctx context.Context, n Node) error
	// DeleteNode forgets a node; without a row it succeeds.
	DeleteNode(ctx context.Context, id string) error

	// PlacementOf is ErrNotFound for an app that was never placed: it runs on this machine.
	PlacementOf(ctx context.Context, app string) (Placement, error)
	ListPlacements(ctx context.Context) ([]Placement, error) // by app
	// SavePlacement writes an app's, or puts it in place of the one that is there. It goes
	// with the app's row; without one it is ErrNotFound.
	SavePlacement(ctx context.Context, p Placement) error
}
