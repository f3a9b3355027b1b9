package application

import (
	"context"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

func TestNothingIsRememberedOfADeletedService(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	r.apply(r.spec("unknown:1"))
	r.settle(20, time.Minute)
	if len(r.memory.services) == 0 || len(r.puller().pulls) == 0 {
		t.Fatal("nothing is remembered of a service whose image is not found: the test looks at the wrong place")
	}
	_, err := r.store.ApplyChange(context.Background(), store.Change{
		AppID: "shop", Kind: store.AttemptDelete, Now: r.clock.Now(), Delete: []string{r.service}, DeleteApp: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for done := false; !done; r.clock.Advance(200 * time.Millisecond) {
		done, _ = finalizePass(r)
		r.sync()
	}
	if len(r.memory.services) != 0 || len(r.puller().pulls) != 0 {
		t.Errorf("remembered: services %v, fetches %v", r.memory.services, r.puller().pulls)
	}
}

func TestAFetchForADeletedServiceEnds(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	p := NewPuller(time.Now, func(string) { close(ended) })
	defer p.Close()
	p.Start(slowPull{began: began}, "shop-web", 1, "big:1", nil)
	<-began
	p.Drop("shop-web")
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the fetch goes on")
	}
	if s := p.State("shop-web", 1, "big:1"); s != (ImageState{}) {
		t.Errorf("state %+v", s)
	}
}

// slowPull fetches until it is told to stop.
type slowPull struct {
	docker.Runtime
	began chan struct{}
}

func (s slowPull) Pull(ctx context.Context, _ string, _ *docker.RegistryAuth, _ func(docker.PullProgress)) error {
	close(s.began)
	<-ctx.Done()
	return ctx.Err()
}
