package providertest

import (
	"context"
	"net"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// Fixture is a provider under the suite, with what the suite needs around it.
// What is optional says so; cases that need it are skipped without.
type Fixture struct {
	Provider provider.Provider

	// Vault is the one that the provider reads secrets from.
	Vault secrets.Vault

	// Tenant owns what the suite makes. The suite makes more tenants by adding to
	// the name.
	Tenant string

	// Images hold the program of package script.
	Images Images

	// Wait passes time, virtual or real, until cond holds; false when it did not
	// within a bound of the fixture's. Between two calls of cond no more than
	// about 50 ms of the orchestrator's time pass.
	Wait func(cond func() bool) bool

	// Now is the time by which the waits count that Step answers with. Without it
	// every poll makes a Step. Optional.
	Now func() time.Time

	// Dial connects to an endpoint that Status named. Nil dials the host and the
	// port of its URL.
	Dial func(ctx context.Context, endpoint provider.Endpoint) (net.Conn, error)

	// Silent says that nothing answers at endpoints, as on a simulated
	// orchestrator. Only Model does without answers.
	Silent bool

	// Parallel lets cases run at the same time, each on a fixture of its own.
	Parallel bool

	// Patience bounds one case; zero is DefaultPatience.
	Patience time.Duration

	// Restart ends the provider's process and returns a new one on the same
	// orchestrator and vault: on the same records, or on none when they are lost.
	// Optional.
	Restart func(keepRecords bool) provider.Provider

	// Leftovers names everything at the orchestrator, in the records and in the
	// vault that bears the instance's mark. Optional.
	Leftovers func(instance id.ID) []string

	// Inspect is what the orchestrator itself says of the running containers of an
	// instance. Optional.
	Inspect func(instance id.ID) []Container

	// Places names every place outside of containers and vault where text is
	// found: labels, records, events, and what the provider logged. Optional.
	Places func(text string) []string

	// Fault arms one fault and returns how to ask whether it struck, which also
	// disarms it; nil when the fixture cannot do that kind. Optional.
	Fault func(f Fault) (struck func() bool)
}

// DefaultPatience bounds one case.
const DefaultPatience = 2 * time.Minute

// Images are references of images of provider/providertest/script/program.
type Images struct {
	// V1 and V2 differ in the variable VERSION, which is "1" and "2".
	V1, V2 string

	// Program is the path of the program in both; empty is "/program".
	Program string

	// Unknown is a reference that there is no image for. Optional.
	Unknown string
}

// Container is what an orchestrator says of a running container.
type Container struct {
	Service   string
	Replica   int
	CPUMillis int // the limit, 0 without one
	MemoryMB  int // the limit, 0 without one
	PidsLimit int64
	Labels    map[string]string
}

// Fault is something that goes wrong with a call that the provider makes: to its
// orchestrator, or to the store of its records.
type Fault struct {
	// Call is which of the calls that have an effect, counted from 1 from now on.
	Call int
	Kind FaultKind
}

// FaultKind is what goes wrong.
type FaultKind int

// The kinds of faults.
const (
	// FailBefore fails the call, and it had no effect.
	FailBefore FaultKind = iota + 1

	// FailAfter fails the call after its effect.
	FailAfter

	// Hang keeps the call, without an effect, until its context ends. It also
	// counts calls that only read.
	Hang

	// CutBefore ends the provider's process before the effect: this call and
	// every later one fail until Restart.
	CutBefore

	// CutAfter does so after the effect.
	CutAfter
)

func (k FaultKind) String() string {
	return map[FaultKind]string{
		FailBefore: "fail before", FailAfter: "fail after", Hang: "hang", CutBefore: "cut before", CutAfter: "cut after",
	}[k]
}
