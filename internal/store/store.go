package store

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
)

// The failures a caller can tell apart.
var (
	// ErrServiceNotFound: no such desired service.
	ErrServiceNotFound = errors.New("service not found")
	// ErrNotFound: no such row of another kind.
	ErrNotFound = errors.New("not found")
	// ErrNameTaken: the full service name belongs to another app.
	ErrNameTaken = errors.New("service name taken")
	// ErrDomainTaken: a domain and path belong to a service of another app.
	ErrDomainTaken = errors.New("domain taken")
	// ErrConflict: the row changed since it was read.
	ErrConflict = errors.New("changed meanwhile")
	// ErrLocked: another daemon uses the data directory.
	ErrLocked = errors.New("data directory in use")
	// ErrSubnetFull: every address of the app's subnet is held.
	ErrSubnetFull = errors.New("no address left in the subnet")
)

// Store is the control plane's memory. Methods are safe for concurrent use.
// Every method that changes several rows does so in one transaction, and
// returns only after it is durable.
type Store interface {
	// InstanceID is this Berth's id, made at the first call and then the same.
	InstanceID(ctx context.Context) (string, error)

	// ApplyChange writes an attempt and the desired state it asks for in one
	// transaction and returns the attempt with its number. See Change.
	ApplyChange(ctx context.Context, c Change) (Attempt, error)
	GetApp(ctx context.Context, name string) (App, error)
	ListApps(ctx context.Context) ([]App, error)
	// GetDesiredService returns ErrServiceNotFound when there is none.
	GetDesiredService(ctx context.Context, name string) (*DesiredService, error)
	// ListDesiredServices lists those of one app, or of all when app is "".
	ListDesiredServices(ctx context.Context, app string) ([]DesiredService, error)

	GetAttempt(ctx context.Context, id int64) (Attempt, error)
	// ListAttempts lists an app's newest first, at most limit.
	ListAttempts(ctx context.Context, app string, limit int) ([]Attempt, error)
	// UpdateAttemptService records progress of one service of an attempt and
	// settles the attempt when its last service became final. A final row is
	// left as it is.
	UpdateAttemptService(ctx context.Context, u AttemptService) error
	// OpenAttempts lists the attempt services of a service that are not final.
	OpenAttempts(ctx context.Context, service string) ([]AttemptService, error)

	// CreateRelease numbers and stores a release. A release of the service with
	// the same image identity and nonce as the newest one is returned instead.
	CreateRelease(ctx context.Context, r Release) (Release, error)
	GetRelease(ctx context.Context, id string) (Release, error)
	// ListReleases lists newest first, at most limit (0: all).
	ListReleases(ctx context.Context, service string, limit int) ([]Release, error)

	// GetActiveRelease returns ErrNotFound when none is active yet.
	GetActiveRelease(ctx context.Context, service string) (ActiveRelease, error)
	// SetActiveRelease stores a under the next route version, which it returns
	// in the row. An identical row keeps its version.
	SetActiveRelease(ctx context.Context, a ActiveRelease) (ActiveRelease, error)
	// DeleteActiveRelease removes the row and takes the next route version.
	DeleteActiveRelease(ctx context.Context, service string) (int64, error)
	// Routes reads the route version and all active releases in one
	// transaction.
	Routes(ctx context.Context) (RouteState, error)

	AppendTrace(ctx context.Context, events ...TraceEvent) error
	// ListTrace lists events of an attempt with an id above after, in order.
	ListTrace(ctx context.Context, attempt, after int64, limit int) ([]TraceEvent, error)

	// SubnetOf returns the subnet of an app, or ErrNotFound.
	SubnetOf(ctx context.Context, app string) (Subnet, error)
	ListSubnets(ctx context.Context) ([]Subnet, error)
	SaveSubnet(ctx context.Context, s Subnet) error
	// TakeAddress gives the container an address of the app's subnet: the one
	// it holds already, else a fresh one, else the longest freed one that has
	// rested, else the longest freed one whose FreedVersion is not above acked;
	// else ErrSubnetFull. The network address, the gateway (first) and the
	// broadcast address are never given.
	TakeAddress(ctx context.Context, q AddressRequest) (netip.Addr, error)
	// FreeAddress lets the container's address rest. Without one it succeeds.
	FreeAddress(ctx context.Context, app, container string, now time.Time) error
	ListAddresses(ctx context.Context, app string) ([]Address, error)
	// DropSubnet forgets an app's subnet and addresses.
	DropSubnet(ctx context.Context, app string) error

	AddPendingTeardown(ctx context.Context, name, nodeID string) error
	// DeletePendingTeardown clears a tombstone, and with the last one of an app
	// that is being deleted and has no services the app's row.
	DeletePendingTeardown(ctx context.Context, name string) error
	RecordPendingTeardownFailure(ctx context.Context, name, cause string) error
	ListPendingTeardowns(ctx context.Context) ([]PendingTeardown, error)
	// DeleteApp removes an app's row once it is Deleting and has neither
	// services nor tombstones; otherwise it does nothing.
	DeleteApp(ctx context.Context, name string) error

	SaveKeptLog(ctx context.Context, l KeptLog) error
	ListKeptLogs(ctx context.Context, service string, limit int) ([]KeptLog, error)
	// Prune drops trace events, settled attempts and kept logs beyond the
	// newest keep per service or app, never an open attempt.
	Prune(ctx context.Context, keep int) error

	reconcile.ConditionStore
	ListConditions(ctx context.Context) (map[string][]reconcile.Condition, error)
	// DeleteConditions forgets a controller.
	DeleteConditions(ctx context.Context, controllerName string) error

	// Changes delivers the keys whose desired state was changed by this
	// process's own writes, after each commit: services by full name, and ""
	// for a route version taken. It drops nothing and never blocks a writer:
	// pending names are coalesced. It returns when ctx is done.
	Changes(ctx context.Context, fn func(c ChangeNote)) error
	Close() error
}

// ChangeNote says what a commit touched.
type ChangeNote struct {
	Services []string // desired state changed or deleted
	Routes   bool     // a route version was taken
	Attempts []int64  // attempt rows or trace events appended
}

// AddressRequest asks for a container's address.
type AddressRequest struct {
	AppID     string
	Container string
	Now       time.Time
	Rest      time.Duration // how long a freed address rests
	Acked     int64         // route version that the data plane's current epoch acknowledged
}

// Change is one accepted request to change an app.
type Change struct {
	AppID string
	Kind  AttemptKind
	Now   time.Time
	// Put are services to create or replace. Generation, AttemptID and
	// UpdatedAt are set by the store; a service of the same name in another
	// app is ErrNameTaken.
	Put []DesiredService
	// Actions says for each service of Put and Delete what happens to it, by
	// full name: see AttemptService.Action. A service in Put without an action
	// is written without being part of the attempt.
	Actions map[string]string
	// Delete are full names of services to delete: a tombstone is written and
	// the desired row removed.
	Delete []string
	// DeleteApp marks the app for deletion once its services are gone.
	DeleteApp bool
	// Expect, when not nil, are the generations the caller decided on (0: does
	// not exist); any other present state is ErrConflict.
	Expect map[string]int64
}
