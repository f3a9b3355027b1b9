package group_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/wire"
)

// TestAHostThatJoinedIsNoGroupsToCountRotateOrRemove holds that what is done to machines
// of groups, those of groups that are no more included, is done to no host that joined.
func TestAHostThatJoinedIsNoGroupsToCountRotateOrRemove(t *testing.T) {
	w := newWorld(t, 2)
	l := w.start()
	made, err := l.JoinHost(t.Context(), instances.JoinRequest{Tenant: "acme", Name: "attic"})
	must(t, err)
	token, err := wire.ParseJoinToken(made.Token)
	must(t, err)
	public, _, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	_, err = l.Register(t.Context(), instances.RegisterRequest{Token: token.Token, PublicKey: public})
	must(t, err)

	joined := group.Key("acme", instances.JoinedGroup)
	keys, err := l.groups.List(t.Context())
	must(t, err)
	for _, k := range keys {
		if k == joined {
			t.Error("hosts that joined are listed as a group")
		}
	}
	if c, err := l.groups.Factory(t.Context(), joined); c != nil || err != nil {
		t.Errorf("hosts that joined have a controller: %v, %v", c, err)
	}
	w.run(3 * time.Minute)
	w.source.kind = "s2" // every machine of the group is replaced
	w.refresh()
	w.run(15 * time.Minute)
	w.source.absent = true // and then there is no group
	w.refresh()
	w.run(15 * time.Minute)
	status, err := w.l.GetInstanceStatusFor(t.Context(), "acme", made.InstanceID)
	must(t, err)
	if status.State != instances.StateRegistered {
		t.Errorf("the host is %s", status.State)
	}
	if n := len(w.own()); n != 0 {
		t.Errorf("%d machines are left of a group that is no more", n)
	}
}
