package fake

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// Kind is what the fake calls itself.
const Kind = "fake"

// Options are how a cloud behaves when nothing is scripted.
type Options struct {
	// Now is its clock; required.
	Now func() time.Time
	// BootTime is from create to running, StopTime from delete to gone.
	BootTime, StopTime time.Duration
	// Lingers is how long a machine that is gone is still found as deleted.
	Lingers time.Duration
	// ListLag is how far lists are behind; look-ups by id never are.
	ListLag time.Duration
	// Subnets are those there are, with the machines that each has room for.
	// Nil means that every subnet exists and has room.
	Subnets map[string]int
	// Args are the names of arguments it knows; nil means that it knows all.
	Args []string
	// Forgets is a provider without memory: it makes a machine again for the id
	// of one that is gone. Else that is infra.ErrConflict.
	Forgets bool
}

// Cloud is the machines of everybody. Its methods may be called from many
// goroutines.
type Cloud struct {
	opts Options

	mu       sync.Mutex
	machines []*machine // in the order of their making, gone ones too
	faults   []*fault
	history  []Event
	calls    map[string]int
	onCall   func(context.Context, Call) error
}

// NewCloud makes a cloud without machines.
func NewCloud(opts Options) *Cloud {
	if opts.Now == nil {
		panic("fake: a cloud needs a clock")
	}
	return &Cloud{opts: opts, calls: map[string]int{}}
}

// Provider opens the cloud for one owner.
func (c *Cloud) Provider(o infra.Owner) *Provider { return &Provider{cloud: c, owner: o} }

// Open is an infra.OpenFunc on this cloud, for a registry.
func (c *Cloud) Open(_ context.Context, o infra.Options) (infra.Provider, error) {
	return c.Provider(o.Owner), nil
}

// Place puts a machine there that no call made, with these tags and perhaps none,
// running at once: somebody else's, or an orphan when the tags are an owner's. It
// returns the provider's id.
func (c *Cloud) Place(tags map[string]string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.add(infra.Instance{InstanceID: tags[infra.TagInstance], Tags: tags}, "", 0)
	return m.inst.ProviderInstanceID
}

// SetStatus makes the machine of an instance be in a status until it is deleted,
// as when somebody stops it by hand. An empty one lets time decide again.
func (c *Cloud) SetStatus(instanceID string, status infra.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.machines {
		if m.inst.InstanceID == instanceID {
			m.forced = status
		}
	}
}

// Vanish takes the machine of an instance away at once, without a call.
func (c *Cloud) Vanish(instanceID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.opts.Now()
	for _, m := range c.machines {
		if m.inst.InstanceID == instanceID && !m.goneBy(now) {
			m.forced, m.partial = "", false
			m.deletedAt, m.goneAt = now, now
			c.note(m, "vanished")
		}
	}
}

// Alive are the machines that are there now, foreign ones too, in the order of
// their making, as they really are.
func (c *Cloud) Alive() []infra.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.opts.Now()
	var all []infra.Instance
	for _, m := range c.machines {
		if !m.goneBy(now) {
			all = append(all, m.seen(now))
		}
	}
	return all
}

// Made is how many machines an instance has had in its life.
func (c *Cloud) Made(instanceID string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, m := range c.machines {
		if m.inst.InstanceID == instanceID {
			n++
		}
	}
	return n
}

// Calls is how often a method was called, by its name, such as CreateInstance.
func (c *Cloud) Calls(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[method]
}

// Event is one thing that happened to a machine.
type Event struct {
	At                 time.Time
	What               string // created, deleting, vanished
	InstanceID         string
	ProviderInstanceID string
}

// History are all events, in their order.
func (c *Cloud) History() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.history)
}

// note is called with the lock held.
func (c *Cloud) note(m *machine, what string) {
	c.history = append(c.history, Event{c.opts.Now(), what, m.inst.InstanceID, m.inst.ProviderInstanceID})
}

// add is called with the lock held.
func (c *Cloud) add(inst infra.Instance, subnet string, boot time.Duration) *machine {
	n := len(c.machines) + 1
	inst = inst.Clone()
	inst.ProviderInstanceID = fmt.Sprintf("fake-%06d", n)
	inst.LaunchedAt = c.opts.Now().UTC()
	inst.PrivateIPv4 = fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
	inst.Hostname = inst.InstanceID
	m := &machine{inst: inst, subnet: subnet, runsAt: inst.LaunchedAt.Add(boot)}
	c.machines = append(c.machines, m)
	c.note(m, "created")
	return m
}
