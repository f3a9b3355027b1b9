package resolvable

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// What Check may say against a domain.
var (
	// ErrNoAddress: so many resolvers know no address that no majority can.
	ErrNoAddress = errors.New("the domain does not resolve")
	// ErrUnanswered: too few resolvers answered to know.
	ErrUnanswered = errors.New("too few resolvers answered")
	// ErrConfig: no Gate can be made of it.
	ErrConfig = errors.New("resolvers are not valid")
)

// Port is that of a resolver.
const Port = 53

// MaxResolvers bounds how many are asked.
const MaxResolvers = 9

const (
	defaultBudget = 5 * time.Second
	attempts      = 2 // of each resolver, so that one lost packet is no answer
)

// DefaultResolvers are public ones of three operators.
func DefaultResolvers() []netip.AddrPort {
	var out []netip.AddrPort
	for _, a := range [][4]byte{{1, 1, 1, 1}, {8, 8, 8, 8}, {9, 9, 9, 9}} {
		out = append(out, netip.AddrPortFrom(netip.AddrFrom4(a), Port))
	}
	return out
}

// Config is how a Gate asks.
type Config struct {
	// Resolvers are asked; none is DefaultResolvers. The quorum is of all of them.
	Resolvers []netip.AddrPort
	// Disabled takes every domain, and asks nobody.
	Disabled bool
	// Budget bounds one check; zero is 5 s.
	Budget time.Duration
}

// Gate checks domains. Many may use it at once; it keeps nothing.
type Gate struct {
	servers []netip.AddrPort
	quorum  int
	budget  time.Duration
}

// New is a gate. A resolver that is not an address with a port, one that is there
// twice, and too many are ErrConfig.
func New(c Config) (*Gate, error) {
	g := &Gate{budget: c.Budget}
	if g.budget <= 0 {
		g.budget = defaultBudget
	}
	if c.Disabled {
		return g, nil
	}
	list := c.Resolvers
	if len(list) == 0 {
		list = DefaultResolvers()
	}
	if len(list) > MaxResolvers {
		return nil, fmt.Errorf("%w: there are %d, and the most is %d", ErrConfig, len(list), MaxResolvers)
	}
	for i, at := range list {
		if !at.IsValid() || at.Port() == 0 || at.Addr().IsUnspecified() || at.Addr().IsMulticast() {
			return nil, fmt.Errorf("%w: %s is no address of a server with a port", ErrConfig, at)
		}
		if slices.Contains(list[:i], at) {
			return nil, fmt.Errorf("%w: %s is there twice, and has one voice", ErrConfig, at)
		}
		g.servers = append(g.servers, at)
	}
	g.quorum = len(g.servers)/2 + 1
	return g, nil
}

// resolver asks one server, whatever this machine is configured with, until ctx ends.
// A name in the machine's own hosts file resolves without being asked for.
func resolver(ctx context.Context, at netip.AddrPort) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(dialling context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(dialling, network, at.String())
		if err == nil {
			// A lookup that nobody waits for any more would go on until its own time is up.
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}}
}

// verdict is what one resolver says.
type verdict uint8

const (
	unknown verdict = iota
	yes
	no
)

// Check returns nil for a domain that resolves. Other than that it is ErrNoAddress,
// ErrUnanswered, or the error of ctx. It takes no longer than the budget.
func (g *Gate) Check(ctx context.Context, domain string) error {
	if len(g.servers) == 0 {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, g.budget)
	defer cancel()
	said := make(chan verdict, len(g.servers))
	for _, server := range g.servers {
		go func() { said <- ask(asking, server, domain, g.budget/attempts) }()
	}
	var count [3]int
	for range g.servers {
		count[<-said]++
		switch {
		case count[yes] >= g.quorum:
			return nil
		case count[no] > len(g.servers)-g.quorum:
			return fmt.Errorf("%w: %d of %d resolvers know no address of it", ErrNoAddress, count[no], len(g.servers))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%w: of %d, %d know an address of it and %d know that there is none", ErrUnanswered, len(g.servers), count[yes], count[no])
}

// ask has one resolver say whether a domain has an address of either family.
func ask(ctx context.Context, server netip.AddrPort, domain string, patience time.Duration) verdict {
	for range attempts {
		if v := askOnce(ctx, server, domain, patience); v != unknown {
			return v
		}
	}
	return unknown
}

func askOnce(ctx context.Context, server netip.AddrPort, domain string, patience time.Duration) verdict {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := resolver(ctx, server).LookupNetIP(ctx, "ip", domain+".") // the dot: below no search domain
	var refusal *net.DNSError
	switch {
	case err == nil && len(found) > 0:
		return yes
	case errors.As(err, &refusal) && refusal.IsNotFound:
		return no
	}
	return unknown
}
