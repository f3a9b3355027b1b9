package memory

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
)

// Cluster is the orchestrator: what is there, whoever drives it. Close it.
type Cluster struct {
	now func() time.Time

	running sync.WaitGroup // the goroutines of processes

	mu         sync.Mutex
	closed     bool
	images     map[string]Image
	containers []*container
	volumes    map[string]*volume
	kept       map[keptKey]*keptVolume
	networks   map[string]*network
	listeners  map[netip.AddrPort]*listener
	published  map[netip.AddrPort]netip.AddrPort // of the host, to where it leads
	made       int                               // containers, ever
	addresses  uint32                            // addresses, ever
	changed    chan struct{}                     // closed at the next change
	watchers   map[*watcher]bool
	faults     faults
}

// NewCluster makes one that is empty. now is the time; nil is time.Now.
func NewCluster(now func() time.Time) *Cluster {
	if now == nil {
		now = time.Now
	}
	return &Cluster{
		now: now, images: map[string]Image{}, volumes: map[string]*volume{}, kept: map[keptKey]*keptVolume{}, networks: map[string]*network{},
		listeners: map[netip.AddrPort]*listener{}, published: map[netip.AddrPort]netip.AddrPort{},
		changed: make(chan struct{}), watchers: map[*watcher]bool{},
	}
}

// Close kills every container and waits for their goroutines.
func (c *Cluster) Close() {
	c.mu.Lock()
	c.closed = true
	for _, o := range c.containers {
		o.killLocked(exitKilled, false)
	}
	c.mu.Unlock()
	c.running.Wait()
}

// exitKilled is the exit code of what was killed.
const exitKilled = 137

var errClosed = errors.New("memory: the cluster is closed")

// signalLocked tells everybody who waits that something is different.
func (c *Cluster) signalLocked(instance id.ID) {
	close(c.changed)
	c.changed = make(chan struct{})
	for w := range c.watchers {
		w.tell(instance)
	}
}

// signal is signalLocked for what is different outside of the cluster.
func (c *Cluster) signal(instance id.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signalLocked(instance)
}

// change is closed when anything changes from now on.
func (c *Cluster) change() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// of are the containers of an instance, in the order in which they were made.
func (c *Cluster) of(instance id.ID) []*container {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*container
	for _, o := range c.containers {
		if o.instance == instance {
			out = append(out, o)
		}
	}
	return out
}

// volume is files that outlive a container.
type volume struct {
	instance id.ID
	files    fileset
}

// network is what containers with an address reach each other in.
type network struct {
	// members are the instances that use it. A network goes with its last one.
	members []id.ID
}

// join makes an instance a member of a network, which is made when there is none.
func (c *Cluster) join(key string, instance id.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.networks[key]
	if n == nil {
		n = &network{}
		c.networks[key] = n
	}
	if !slices.Contains(n.members, instance) {
		n.members = append(n.members, instance)
	}
}

// leave takes an instance out of every network.
func (c *Cluster) leave(instance id.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, n := range c.networks {
		n.members = slices.DeleteFunc(n.members, func(o id.ID) bool { return o == instance })
		if len(n.members) == 0 {
			delete(c.networks, key)
		}
	}
}

// dropVolumes removes the volumes of an instance.
func (c *Cluster) dropVolumes(instance id.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, v := range c.volumes {
		if v.instance == instance {
			delete(c.volumes, name)
		}
	}
}

// address is a new one of 10.0.0.0/8.
func (c *Cluster) addressLocked() netip.Addr {
	c.addresses++
	n := c.addresses
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
}

// Leftovers names everything that bears the mark of an instance.
func (c *Cluster) Leftovers(instance id.ID) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, o := range c.containers {
		if o.instance == instance {
			out = append(out, "container "+o.name)
		}
	}
	for name, v := range c.volumes {
		if v.instance == instance {
			out = append(out, "volume "+name)
		}
	}
	for key, n := range c.networks {
		if slices.Contains(n.members, instance) {
			out = append(out, "network "+key)
		}
	}
	slices.Sort(out)
	return out
}

// errRefused is what a dial finds where nobody listens.
func errRefused(address string) error {
	return &net.OpError{Op: "dial", Net: "memory", Err: fmt.Errorf("%s: connection refused", address)}
}
