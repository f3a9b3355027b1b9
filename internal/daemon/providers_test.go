package daemon

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/wire"
)

func TestAProviderThatDoesNotAnswerIsACheckThatFailed(t *testing.T) {
	good := providerCheck(wire.Provider{Name: "docker", Healthy: true, Message: "docker 27", LatencyMS: 3})
	if good.State != wire.CheckOK || good.Name != "provider docker" || !strings.Contains(good.Message, "3 ms") || good.Fix != "" {
		t.Errorf("%+v", good)
	}
	bad := providerCheck(wire.Provider{Name: "docker", Message: "nobody there"})
	if bad.State != wire.CheckFailed || bad.Message != "nobody there" || bad.Fix == "" {
		t.Errorf("%+v", bad)
	}
}

func TestThePrefixOfWorkloadsIsOneThatTheProviderTakes(t *testing.T) {
	for prefix, want := range map[string]string{"": "berth-wl", "shop": "shop-wl", "a.b": "a-b-wl"} {
		if got := workloadPrefix(prefix); got != want {
			t.Errorf("%q: %q, want %q", prefix, got, want)
		}
	}
}

// events is an engine that tells of some events and ends.
type events struct {
	docker.Runtime
	all []docker.Event
}

func (e events) Events(_ context.Context, _ map[string]string, ready func(), fn func(docker.Event)) error {
	ready()
	for _, one := range e.all {
		fn(one)
	}
	return nil
}

func TestContainersOfWorkloadsWakeNoApp(t *testing.T) {
	nodes := fleet.New(fleet.Options{Local: events{all: []docker.Event{
		{Action: docker.EventDie, Labels: map[string]string{docker.LabelService: "wkl1", docker.LabelWorkload: "wkl1"}},
		{Action: docker.EventDie, Labels: map[string]string{docker.LabelService: "shop-web"}},
	}}})
	defer nodes.Close()
	d := &daemon{instance: "b1", engineAt: FollowEngine("", "--docker", slog.New(slog.DiscardHandler)), memory: application.NewMemory(nil), fleet: nodes}
	var woken []string
	err := d.watchEngine(t.Context(), func() {}, func(k reconcile.Key) { woken = append(woken, k.String()) })
	if err != nil || len(woken) != 1 || woken[0] != "application/shop-web" {
		t.Errorf("woken %q, %v", woken, err)
	}
}
