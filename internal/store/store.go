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
	// ErrDomainTaken: a domain and path belong to another service.
	ErrDomainTaken = errors.New("domain taken")
	// ErrConflict: the row changed since it was read.
	ErrConflict = errors.New("changed meanwhile")
	// ErrLocked: another daemon uses the data directory.
	ErrLocked = errors.New("data directory in use")
	// ErrNoSpace: the disk is full; nothing was written.
	ErrNoSpace = errors.New("no space left for the store")
	// ErrSubnetFull: every address of the app's subnet is held.
	ErrSubnetFull = errors.New("no address left in the subnet")
)

// Store is the control plane's memory. Methods are safe for concurrent use.
// Every method that changes several rows does so in one transaction, and
// returns only after it is durable. What a caller leaves zero of a time is now,
// of a limit is no limit; what one reads is ErrNotFound where it is not there,
// unless said otherwise.
type Store interface {
	// InstanceID is this Berth's id, made at the first call and then the same.
	InstanceID(ctx context.Context) (string, error)

	// ApplyChange writes an attempt and the desired state it asks for in one
	// transaction and returns the attempt with its number. Parts of earlier
	// attempts that concern the same services become superseded. See Change.
	ApplyChange(ctx context.Context, c Change) (Attempt, error)
	GetApp(ctx context.Context, name string) (App, error)
	ListApps(ctx context.Context) ([]App, error)
	// GetDesiredService returns ErrServiceNotFound when there is none.
	GetDesiredService(ctx context.Context, name string) (*DesiredService, error)
	// ListDesiredServices lists those of one app, or of all when app is "".
	ListDesiredServices(ctx context.Context, app string) ([]DesiredService, error)

	GetAttempt(ctx context.Context, id int64) (Attempt, error)
	// ListAttempts lists an app's, newest first.
	ListAttempts(ctx context.Context, app string, limit int) ([]Attempt, error)
	// UpdateAttemptService records progress of one service of an attempt and
	// settles the attempt when its last service became final. A final row is
	// left as it is. The action is not changed, and a ReleaseID that is written
	// stays when u has none. A service that the attempt does not concern is
	// ErrNotFound.
	UpdateAttemptService(ctx context.Context, u AttemptService) error
	// OpenAttempts lists the attempt services of a service that are not final.
	OpenAttempts(ctx context.Context, service string) ([]AttemptService, error)

	// CreateRelease numbers and stores a release; ID and Version of r are not
	// read. When the newest release of the service has the same image identity
	// (Resolved, else ImageID) and nonce, that one is returned instead.
	CreateRelease(ctx context.Context, r Release) (Release, error)
	GetRelease(ctx context.Context, id string) (Release, error)
	// ListReleases lists newest first. Releases outlive their service and app,
	// whose next release goes on with the numbers.
	ListReleases(ctx context.Context, service string, limit int) ([]Release, error)

	// GetActiveRelease returns ErrNotFound when none is active yet.
	GetActiveRelease(ctx context.Context, service string) (ActiveRelease, error)
	// SetActiveRelease stores a under the next route version, which it returns
	// in the row. An identical row keeps its version. Since stays what it was,
	// whatever a says, while the release does. No host and path leads to two
	// services: one that another service's desired state claims is left out of a
	// once that service has it, and one that a's own claims leaves all others'
	// rows, each of which takes a version too.
	SetActiveRelease(ctx context.Context, a ActiveRelease) (ActiveRelease, error)
	// DeleteActiveRelease removes the row and takes the next route version, or
	// returns the newest one when there is no row.
	DeleteActiveRelease(ctx context.Context, service string) (int64, error)
	// Routes reads the route version and all active releases in one
	// transaction.
	Routes(ctx context.Context) (RouteState, error)

	// AppendTrace writes events under ids that grow in their order.
	AppendTrace(ctx context.Context, events ...TraceEvent) error
	// ListTrace lists events of an attempt with an id above after, in order.
	// Without any, or without the attempt, it is empty.
	ListTrace(ctx context.Context, attempt, after int64, limit int) ([]TraceEvent, error)

	SubnetOf(ctx context.Context, app string) (Subnet, error)
	ListSubnets(ctx context.Context) ([]Subnet, error)
	// SaveSubnet records an app's subnet. One that overlaps another app's is
	// ErrConflict; another one for the same app forgets the addresses of the old.
	SaveSubnet(ctx context.Context, s Subnet) error
	// TakeAddress gives the container an address of the app's subnet: the one
	// it holds already, else a fresh one, else the longest freed one that has
	// rested, else the longest freed one whose FreedVersion is not above acked;
	// else ErrSubnetFull. An app without a subnet is ErrNotFound. The network address, the gateway (first) and the
	// broadcast address are never given.
	TakeAddress(ctx context.Context, q AddressRequest) (netip.Addr, error)
	// FreeAddress lets the container's address rest. Without one it succeeds.
	FreeAddress(ctx context.Context, app, container string, now time.Time) error
	ListAddresses(ctx context.Context, app string) ([]Address, error)
	// DropSubnet forgets an app's subnet and addresses.
	DropSubnet(ctx context.Context, app string) error

	// AddPendingTeardown writes a tombstone for the app and attempt of the
	// desired service, or of its newest release. One that is there keeps its
	// history and goes to the node.
	AddPendingTeardown(ctx context.Context, name, nodeID string) error
	// DeletePendingTeardown clears a tombstone, and with the last one of an app
	// that is being deleted and has no services the app's row. Without one it
	// succeeds.
	DeletePendingTeardown(ctx context.Context, name string) error
	// RecordPendingTeardownFailure counts a failure; without a tombstone it is
	// ErrNotFound.
	RecordPendingTeardownFailure(ctx context.Context, name, cause string) error
	ListPendingTeardowns(ctx context.Context) ([]PendingTeardown, error)
	// DeleteApp removes an app's row once it is Deleting and has neither
	// services nor tombstones; otherwise it does nothing.
	DeleteApp(ctx context.Context, name string) error

	// SaveKeptLog keeps the last MaxKeptLogBytes of l in whole lines, in place of
	// a log of the same container and start, and of a service the newest
	// MaxKeptLogs.
	SaveKeptLog(ctx context.Context, l KeptLog) error
	// ListKeptLogs lists a service's, newest first, with their lines: up to
	// MaxKeptLogs times MaxKeptLogBytes.
	ListKeptLogs(ctx context.Context, service string, limit int) ([]KeptLog, error)
	// Prune drops settled attempts of an app and kept logs of a service beyond
	// the newest keep, with an attempt its trace, and of every other settled one
	// the events of a service beyond the newest keep, or MinTraceKept if that is
	// more. Nothing of an open attempt goes. Of an app that is gone no kept log
	// stays.
	Prune(ctx context.Context, keep int) error

	SecretStore
	RecordStore
	NodeStore

	reconcile.ConditionStore
	ListConditions(ctx context.Context) (map[string][]reconcile.Condition, error)
	// DeleteConditions forgets a controller.
	DeleteConditions(ctx context.Context, controllerName string) error

	// Changes delivers what this process's own writes touched, after each commit.
	// The first note is empty: from then on nothing is missed, so whoever lists in
	// that call or after it has seen everything. It never blocks a writer: what a
	// slow fn has not taken yet becomes one note. It returns ctx's error, or
	// another once the store is closed.
	Changes(ctx context.Context, fn func(c ChangeNote)) error
	Close() error
}

// ChangeNote says what one or more commits touched.
type ChangeNote struct {
	Services []string // full names: desired state changed or deleted, or a tombstone written
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
	// UpdatedAt are set by the store; a name that a service of another app has,
	// or whose teardown is pending there, is ErrNameTaken, a domain and path of
	// another service ErrDomainTaken. A put cancels a pending teardown of the service
	// and, without DeleteApp, the deletion of the app.
	Put []DesiredService
	// Actions says for each service of Put and Delete what happens to it, by
	// full name: see AttemptService.Action. A service in Put without an action
	// is written without being part of the attempt; one in Delete without an
	// action is part of it as "delete".
	Actions map[string]string
	// Delete are full names of services to delete: a tombstone is written and
	// the desired row removed. A service that is neither desired nor being torn
	// down is ErrServiceNotFound.
	Delete []string
	// DeleteApp marks the app for deletion: its row goes with its last service
	// and tombstone. Of an app that does not exist it is ErrNotFound.
	DeleteApp bool
	// Expect, when not nil, are the generations the caller decided on (0: does
	// not exist); any other present state is ErrConflict.
	Expect map[string]int64
}
