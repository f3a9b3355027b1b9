package outbox_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

// town is receivers by host: one called dead takes a request and never answers.
type town struct {
	mu           sync.Mutex
	now, most    map[string]int
	acknowledged map[string]time.Duration // by the path of the URL, since began
	began        time.Time
}

func (c *town) RoundTrip(r *http.Request) (*http.Response, error) {
	host := r.URL.Hostname()
	c.mu.Lock()
	c.now[host]++
	c.most[host] = max(c.most[host], c.now[host])
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now[host]--
	}()
	if host == "dead" {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acknowledged[r.URL.Path] = time.Since(c.began)
	return reply(200, ""), nil
}

// posted runs a Post over the town until the test ends.
func posted(t *testing.T, store provider.StateStore, sent func(string)) (*outbox.Post, *town) {
	t.Helper()
	c := &town{now: map[string]int{}, most: map[string]int{}, acknowledged: map[string]time.Duration{}, began: time.Now()}
	p := outbox.NewPost(newOutbox(t, store, time.Now, c, nil), sent, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p, c
}

func leaseOf(n int) string { return fmt.Sprintf("018f3c1e-7b2a-7c4d-9e5f-%012x", n) }

func TestAReceiverThatDoesNotAnswerHoldsUpItsOwnLeasesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := posted(t, provider.NewMemoryStore(), nil)
		for n := range 300 {
			if err := p.Add(t.Context(), leaseOf(n), fmt.Sprintf("https://dead:9000/%d", n), "op", failedWith("x")); err != nil {
				t.Fatal(err)
			}
		}
		if again, err := p.Step(t.Context(), leaseOf(0)); again != 0 || err != nil || time.Since(c.began) != 0 {
			t.Errorf("whoever works on a lease waits for %v, is told %v, %v", time.Since(c.began), again, err)
		}
		synctest.Wait()
		for n := range 300 {
			if err := p.Add(t.Context(), leaseOf(1000+n), fmt.Sprintf("https://well/%d", n), "op", failedWith("x")); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Second)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.acknowledged) != 300 {
			t.Errorf("%d of 300 callbacks are there after a second", len(c.acknowledged))
		}
		if c.most["dead"] != outbox.MaxSendingTo || c.most["well"] > outbox.MaxSendingTo {
			t.Errorf("as many were sent at once: %v", c.most)
		}
	})
}

func TestAPostFindsWhatWaitsAndTellsWhenNothingDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := provider.NewMemoryStore()
		before := newOutbox(t, store, time.Now, http.DefaultTransport, nil)
		for _, op := range []string{"a", "b"} {
			if err := before.Add(t.Context(), leaseOf(1), "https://well/"+op, op, failedWith(op)); err != nil {
				t.Fatal(err)
			}
		}
		told := make(chan string, 10)
		p, c := posted(t, store, func(lease string) { told <- lease })
		<-time.After(10 * time.Second)
		synctest.Wait()
		if len(c.acknowledged) != 2 || len(told) != 1 || <-told != leaseOf(1) {
			t.Errorf("acknowledged are %v, and it told of %d leases", c.acknowledged, len(told))
		}
		// One that is added while it runs is sent at once, however the lease is written.
		if err := p.Add(t.Context(), "018F3C1E-7B2A-7C4D-9E5F-000000000001", "https://well/c", "c", failedWith("c")); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second)
		synctest.Wait()
		if len(c.acknowledged) != 3 || len(told) != 1 {
			t.Errorf("acknowledged are %v", c.acknowledged)
		}
	})
}
