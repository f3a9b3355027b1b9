package storetest

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/store"
)

// addressPlay is a simple telling of the address rules, played beside the store.
type addressPlay struct {
	app   string
	fresh []netip.Addr // never given, in order
	held  map[string]netip.Addr
	rests []resting // longest freed first
	now   time.Time
}

type resting struct {
	ip      netip.Addr
	freed   time.Time
	version int64
}

const playRest = 10 * time.Second

// expect says what a request shall get, and carries it out.
func (p *addressPlay) expect(container string, acked int64) (netip.Addr, bool) {
	if ip, ok := p.held[container]; ok {
		return ip, true
	}
	if len(p.fresh) > 0 {
		ip := p.fresh[0]
		p.fresh = p.fresh[1:]
		p.held[container] = ip
		return ip, true
	}
	for _, fits := range []func(resting) bool{
		func(r resting) bool { return p.now.Sub(r.freed) >= playRest },
		func(r resting) bool { return r.version <= acked },
	} {
		for i, r := range p.rests {
			if fits(r) {
				p.rests = append(p.rests[:i:i], p.rests[i+1:]...)
				p.held[container] = r.ip
				return r.ip, true
			}
		}
	}
	return netip.Addr{}, false
}

// addressModel plays takes, frees, cutovers and the passing of time in any
// order and compares each answer.
func addressModel(e *env) {
	run := 0
	rapid.Check(e.T, func(t *rapid.T) {
		run++
		p := &addressPlay{app: fmt.Sprint("app", run), held: map[string]netip.Addr{}, now: at(0)}
		net := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(run >> 8), byte(run), 0}), 29)
		if err := e.s.SaveSubnet(e.ctx, store.Subnet{AppID: p.app, Prefix: net}); err != nil {
			t.Fatal(err)
		}
		ip := net.Addr().Next()
		for range 5 {
			ip = ip.Next()
			p.fresh = append(p.fresh, ip)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			p.now = p.now.Add(time.Duration(rapid.IntRange(1, 6).Draw(t, "seconds")) * time.Second)
			p.step(t, e)
		}
	})
}

func (p *addressPlay) step(t *rapid.T, e *env) {
	container := fmt.Sprint("c", rapid.IntRange(0, 8).Draw(t, "container"))
	switch rapid.IntRange(0, 6).Draw(t, "what") {
	case 0:
		a := activeRow(p.app+"-web", fmt.Sprint(p.now.UnixNano()))
		if _, err := e.s.SetActiveRelease(e.ctx, a); err != nil {
			t.Fatal(err)
		}
	case 1, 2, 3:
		p.free(t, e, container)
	default:
		state, err := e.s.Routes(e.ctx)
		if err != nil {
			t.Fatal(err)
		}
		acked := state.Version - int64(rapid.IntRange(0, 3).Draw(t, "behind"))
		want, ok := p.expect(container, acked)
		got, err := e.s.TakeAddress(e.ctx, store.AddressRequest{AppID: p.app, Container: container, Now: p.now, Rest: playRest, Acked: acked})
		if got != want || (err == nil) != ok || (!ok && !errors.Is(err, store.ErrSubnetFull)) {
			t.Fatalf("%s got %v, %v; want %v", container, got, err, want)
		}
	}
}

func (p *addressPlay) free(t *rapid.T, e *env, container string) {
	state, err := e.s.Routes(e.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.s.FreeAddress(e.ctx, p.app, container, p.now); err != nil {
		t.Fatal(err)
	}
	if ip, ok := p.held[container]; ok {
		delete(p.held, container)
		p.rests = append(p.rests, resting{ip, p.now, state.Version})
	}
}
