package netns

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// Kind is what the provider calls itself.
const Kind = "netns"

// Defaults of a Config.
const (
	DefaultSubnet    = "default" // the subnet of a request that names none
	DefaultStopGrace = 5 * time.Second
	maxStopGrace     = 5 * time.Minute
	linkBits         = 30 // of a machine's range
)

var (
	defaultPool   = netip.MustParsePrefix("10.233.0.0/20")
	defaultBridge = netip.MustParsePrefix("172.29.255.1/24")
	subnetName    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
)

// Config is how a provider makes machines. The zero value of each optional field
// is its default.
type Config struct {
	// Dir holds the machines' folders, of all owners; an absolute path, made when
	// missing. Required. Its file system must be one that overlay can write to.
	Dir string
	// Program starts package machine's Main: the program by absolute path, and the
	// arguments before Main's own, such as berth-node and netns-init. Required.
	Program []string
	// Engine is dockerd by absolute path. Required.
	Engine string
	// Agent is the agent by absolute path, and its first arguments, to which
	// "--dir /var/lib/berth/agent --docker unix:///run/docker.sock" is added.
	// Empty is machines without an agent.
	Agent []string
	// Subnets are IPv4 ranges by name, from which each machine takes a /30 that no
	// route of the host overlaps. Empty means 10.233.0.0/20 as DefaultSubnet.
	Subnets map[string]netip.Prefix
	// Bridge is the address of every engine's own network in its machine.
	Bridge netip.Prefix
	// ConnectMachines lets machines of this owner reach each other through the
	// host, and what else the host forwards. Without it a machine reaches the host.
	ConnectMachines bool
	// LeaveEngineDown does not start an engine again that ended by itself.
	LeaveEngineDown bool
	// InsecureRegistries are registries that the engines speak plain HTTP to.
	InsecureRegistries []string
	// StopGrace is how long what runs in a machine may take to end when it is
	// deleted, in whole seconds; 0 means DefaultStopGrace.
	StopGrace time.Duration
}

func (c Config) withDefaults() Config {
	if len(c.Subnets) == 0 {
		c.Subnets = map[string]netip.Prefix{DefaultSubnet: defaultPool}
	}
	if !c.Bridge.IsValid() {
		c.Bridge = defaultBridge
	}
	if c.StopGrace == 0 {
		c.StopGrace = DefaultStopGrace
	}
	return c
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", infra.ErrInvalidRequest, fmt.Errorf(format, args...))
}

func (c Config) validate() error {
	for _, must := range []struct{ name, path string }{
		{"dir", c.Dir}, {"program", first(c.Program)}, {"engine", c.Engine},
	} {
		if !filepath.IsAbs(must.path) {
			return invalid("%s is %q; it must be an absolute path", must.name, must.path)
		}
	}
	if len(c.Agent) > 0 && !filepath.IsAbs(c.Agent[0]) {
		return invalid("agent begins with %q; it must be an absolute path", c.Agent[0])
	}
	if c.StopGrace < time.Second || c.StopGrace > maxStopGrace || c.StopGrace%time.Second != 0 {
		return invalid("stop_grace is %v; it must be whole seconds, 1s to %v", c.StopGrace, maxStopGrace)
	}
	if !c.Bridge.Addr().Is4() || c.Bridge.Bits() < 8 || c.Bridge.Bits() > 29 || c.Bridge.Masked() == c.Bridge {
		return invalid("bridge is %v; it must be an IPv4 address in its network, such as %v", c.Bridge, defaultBridge)
	}
	return c.validateSubnets()
}

func (c Config) validateSubnets() error {
	var seen []netip.Prefix
	for name, pool := range c.Subnets {
		switch {
		case !subnetName.MatchString(name):
			return invalid("subnet %q is not lower-case letters, digits and dashes", name)
		case !pool.Addr().Is4() || pool.Bits() < 8 || pool.Bits() > linkBits || pool.Masked() != pool:
			return invalid("subnet %s is %v; it must be an IPv4 network of 8 to %d bits, such as %v", name, pool, linkBits, defaultPool)
		case pool.Overlaps(c.Bridge):
			return invalid("subnet %s, %v, has the engines' own network %v in it", name, pool, c.Bridge)
		case slices.ContainsFunc(seen, pool.Overlaps):
			return invalid("subnet %s, %v, overlaps another one", name, pool)
		}
		seen = append(seen, pool)
	}
	return nil
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// pool finds the range of a request's subnet.
func (c Config) pool(subnetID string) (netip.Prefix, error) {
	if subnetID == "" {
		subnetID = DefaultSubnet
	}
	pool, ok := c.Subnets[subnetID]
	if !ok {
		return netip.Prefix{}, invalid("there is no subnet %q", subnetID)
	}
	return pool, nil
}
