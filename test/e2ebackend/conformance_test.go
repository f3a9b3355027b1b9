package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	moby "github.com/moby/moby/client"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/backendtest"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

// brief leaves out of a run of all tests what takes minutes on a real engine;
// `make conformance` runs every case.
const brief = "BERTH_TEST_BRIEF"

// caseTime bounds one case.
const caseTime = 3 * time.Minute

// bench is a backend under the suite: the client over the server, hosting and the
// provider on a real engine.
type bench struct {
	*stand
	calls *backendtest.Callbacks
	cases atomic.Int64
}

func (b *bench) fixture(t testing.TB) backendtest.Fixture {
	return backendtest.Fixture{
		Backend: b.holder.HTTPClient, Callbacks: b.calls, CallbackURL: b.holder.CallbackURL(),
		SKU: diskTier, SmallerSKU: smallTier, UnknownSKU: "018f3c1e-7b2a-7c4d-9e5f-0000000000ff",
		Manifest: document(service(b.image("v1"))), Other: document(service(b.image("v2"))), Broken: document(service(b.image("broken"))),
		Invalid: []byte(`{"image":"` + b.image("v1") + `","privileged":true}`),
		Huge:    []backend.LeaseItem{{SKU: tier, Quantity: 1000, ServiceName: "app"}},
		Domain:  fmt.Sprintf("shop%d.test", b.cases.Add(1)),
		Break:   func(lease string) { b.pauseAll(t, lease) },
		Wait:    backendtest.Poll(25*time.Millisecond, time.Minute), Patience: caseTime,
	}
}

// pauseAll makes the containers of a lease do nothing more, of which none gets up by
// itself.
func (b *bench) pauseAll(t testing.TB, lease string) {
	info, err := b.holder.GetInfo(t.Context(), lease)
	if err != nil {
		t.Error(err)
		return
	}
	for _, id := range containersOf(info) {
		if _, err := b.engine.ContainerPause(t.Context(), id, moby.ContainerPauseOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// TestABackendOnARealEngineConforms holds it to the suite, and to leaving nothing behind.
func TestABackendOnARealEngineConforms(t *testing.T) {
	t.Parallel()
	o := defaults()
	o.docker, o.out = "unix://"+testimage.Socket(t), t.Output()
	o.pool, o.watchdog = "10.226.0.0/16", time.Second
	b := &bench{calls: new(backendtest.Callbacks)}
	o.deliver = b.calls.Deliver
	var err error
	b.stand, err = erect(t.Context(), o)
	if b.stand != nil {
		defer b.tearDown(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]bool{}
	for _, c := range backendtest.Cases() {
		group, _, _ := strings.Cut(c.Name, "/")
		if os.Getenv(brief) != "" && groups[group] {
			continue
		}
		groups[group] = true
		t.Run(c.Name, func(t *testing.T) { c.Run(t, b.fixture(t)) })
	}
	if os.Getenv(brief) != "" {
		t.Logf("%s is set: the first case of every group, %d of %d; make conformance runs all", brief, len(groups), len(backendtest.Cases()))
	}
	left, err := b.end(t.Context())
	if err != nil {
		t.Error(err)
	}
	for _, what := range left {
		if !strings.HasPrefix(what, "record diagnostics/") { // why a lease failed is kept for a week
			t.Errorf("left: %s", what)
		}
	}
	if t.Failed() {
		t.Logf("the end of the backend's log:\n%s", b.daemon.tail())
	}
}
