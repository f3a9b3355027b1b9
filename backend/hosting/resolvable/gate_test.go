package resolvable_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/backend/hosting/resolvable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const domain = "shop.example.org"

func gate(t *testing.T, kinds ...answer) (*resolvable.Gate, []*server) {
	t.Helper()
	var servers []*server
	c := resolvable.Config{Budget: 400 * time.Millisecond}
	for _, kind := range kinds {
		s := serve(t, kind)
		servers, c.Resolvers = append(servers, s), append(c.Resolvers, s.at)
	}
	g, err := resolvable.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g, servers
}

func TestAMajorityOfAllResolversDecides(t *testing.T) {
	for name, c := range map[string]struct {
		kinds []answer
		want  error
	}{
		"all know it":             {[]answer{has4, has4, has4}, nil},
		"either family":           {[]answer{has6, has4, noName}, nil},
		"two of three":            {[]answer{has4, noName, has4}, nil},
		"two, one is down":        {[]answer{has4, silence, has4}, nil},
		"one of three":            {[]answer{has4, noName, noName}, resolvable.ErrNoAddress},
		"none":                    {[]answer{noName, noName, noName}, resolvable.ErrNoAddress},
		"a name without address":  {[]answer{noData, noData, has4}, resolvable.ErrNoAddress},
		"one, and two are down":   {[]answer{has4, silence, silence}, resolvable.ErrUnanswered},
		"one each way":            {[]answer{has4, noName, silence}, resolvable.ErrUnanswered},
		"all fail":                {[]answer{failure, failure, failure}, resolvable.ErrUnanswered},
		"half of two":             {[]answer{has4, failure}, resolvable.ErrUnanswered},
		"half of two say no":      {[]answer{has4, noName}, resolvable.ErrNoAddress},
		"one alone":               {[]answer{has4}, nil},
		"one alone does not":      {[]answer{noName}, resolvable.ErrNoAddress},
		"lost packets are no nos": {[]answer{lossy, lossy, has4}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, servers := gate(t, c.kinds...)
			if err := g.Check(t.Context(), domain); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%v, want %v", err, c.want)
			}
			for i, s := range servers {
				if asked, ok := s.name.Load().(string); ok && asked != domain+"." {
					t.Errorf("resolver %d was asked for %s", i, asked)
				}
			}
		})
	}
}

func TestACheckEndsWithItsBudgetAndWithItsContext(t *testing.T) {
	g, _ := gate(t, silence, silence)
	began := time.Now()
	if err := g.Check(t.Context(), domain); !errors.Is(err, resolvable.ErrUnanswered) {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Check(ctx, domain); !errors.Is(err, context.Canceled) {
		t.Errorf("of a caller that has left: %v", err)
	}
}

func TestAGateThatIsDisabledAsksNobody(t *testing.T) {
	s := serve(t, noName)
	g, err := resolvable.New(resolvable.Config{Resolvers: []netip.AddrPort{s.at}, Disabled: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(t.Context(), domain); err != nil || s.asked.Load() != 0 {
		t.Errorf("%v, after %d questions", err, s.asked.Load())
	}
}

func TestResolversThatCannotBeAreRefused(t *testing.T) {
	at := netip.MustParseAddrPort
	many := make([]netip.AddrPort, 0, resolvable.MaxResolvers+1)
	for i := range resolvable.MaxResolvers + 1 {
		many = append(many, netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), uint16(i+1)))
	}
	for name, list := range map[string][]netip.AddrPort{
		"no port": {at("192.0.2.1:0")}, "no address": {{}}, "any": {at("0.0.0.0:53")}, "group": {at("224.0.0.1:53")},
		"twice": {at("192.0.2.1:53"), at("192.0.2.1:53")}, "many": many,
	} {
		if _, err := resolvable.New(resolvable.Config{Resolvers: list}); !errors.Is(err, resolvable.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := resolvable.New(resolvable.Config{}); err != nil || len(resolvable.DefaultResolvers()) != 3 {
		t.Errorf("the defaults: %v", err)
	}
}
