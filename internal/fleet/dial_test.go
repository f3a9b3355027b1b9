package fleet_test

import (
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/store"
)

func (r *rig) dial(address string) (via []string, err error) {
	r.others.mu.Lock()
	r.others.dialled = nil
	r.others.mu.Unlock()
	_, err = r.DialContext(r.ctx, "tcp", address)
	return r.others.dialled, err
}

func TestAnAddressIsDialledThroughTheNodeOfItsContainer(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.up(on("", "n1", "n2"), 3)
	for address, want := range map[string]string{
		"10.9.1.10:80":  "10.9.1.10:80",
		"10.9.1.11:80":  "n1 10.9.1.11:80",
		"10.9.1.12:81":  "n2 10.9.1.12:81",
		"10.9.1.99:80":  "10.9.1.99:80",
		"127.0.0.1:1":   "127.0.0.1:1",
		"name.test:443": "name.test:443",
	} {
		if via, err := r.dial(address); !slices.Equal(via, []string{want}) || !errors.Is(err, errDialled) {
			t.Errorf("%s was dialled as %q, %v", address, via, err)
		}
	}
	r.open(nil)
	r.listed(r.All())
	if via, _ := r.dial("10.9.1.11:80"); !slices.Equal(via, []string{"n1 10.9.1.11:80"}) {
		t.Errorf("after a restart: %q", via)
	}
	r.set("n1", false)
	_, err := r.dial("10.9.1.11:80")
	wantErr(t, err, errOffline, "node n1")
}

func TestOfTwoWithOneAddressTheKeeperIsDialled(t *testing.T) {
	r := newRig(t, "n1", "n2")
	twin(r, "n1", "n2")
	r.listed(r.For(on("n2")))
	if via, _ := r.dial("10.9.1.10:80"); !slices.Equal(via, []string{"n2 10.9.1.10:80"}) {
		t.Errorf("dialled %q", via)
	}
	r.must(r.engine("n2").Stop(r.ctx, replica(0).Name, 0))
	r.listed(r.All())
	if via, _ := r.dial("10.9.1.10:80"); !slices.Equal(via, []string{"n1 10.9.1.10:80"}) {
		t.Errorf("once the keeper does not run: %q", via)
	}
}

func TestNothingIsDialledOnANodeThatTheAppGaveUp(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.up(on("n1"), 1)
	r.set("n1", false)
	for what, c := range map[string]struct {
		p   store.Placement
		via string
	}{
		"away":     {on("n2"), "n1 10.9.1.10:80"},
		"given up": {without("n1", "n2"), "10.9.1.10:80"},
	} {
		r.For(c.p)
		if via, _ := r.dial("10.9.1.10:80"); !slices.Equal(via, []string{c.via}) {
			t.Errorf("%s: dialled %q", what, via)
		}
	}
}

func TestWithoutMachinesEverythingIsDialledHere(t *testing.T) {
	r := newRig(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	r.must(err)
	defer l.Close()
	r.open(func(o *fleet.Options) { o.Members, o.Dialer = nil, nil })
	conn, err := r.DialContext(r.ctx, "tcp", l.Addr().String())
	r.must(err)
	conn.Close()
}
