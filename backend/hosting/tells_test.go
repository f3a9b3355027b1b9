package hosting_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider/memory"
)

// What a lease ran is told with its images, release by release: the name of a stack
// would say nothing to who looks for the one to go back to.
func TestAReleaseNamesTheImagesThatItRan(t *testing.T) {
	const first, second = "docker.io/library/program:1", "docker.io/library/program:2"
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(three(), serves(1)), update(three(), serves(2)))(w)
		all, err := w.GetReleases(context.Background(), leaseIDs[0])
		if err != nil || len(all) != 2 || all[0].Image != first || all[1].Image != first+","+second {
			t.Errorf("the releases are %+v, %v", all, err)
		}
		info := w.ends(t, ready, success, success)
		if want := map[string]string{"web": second, "db": first, "job": first}; info.Image != "" || !maps.Equal(info.ServiceImages, want) {
			t.Errorf("the lease has %q and %v; want %v", info.Image, info.ServiceImages, want)
		}
	})
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)), update(one(1), breaks))(w)
		all, err := w.GetReleases(context.Background(), leaseIDs[0])
		if err != nil || len(all) != 2 || all[0].Image != first || all[1].Image != second {
			t.Errorf("the releases are %+v, %v", all, err)
		}
		if info := w.ends(t, ready, success, failure); info.Image != first {
			t.Errorf("after an update that was taken back the lease has %q", info.Image)
		}
	})
}

// A failure is told in words of our own, wherever it is told: those of an engine or of
// the program have paths, addresses and secrets in them.
func TestAFailureIsToldInWordsOfOurOwn(t *testing.T) {
	for name, service := range map[string]string{
		"an image that is not there": `{"image":"absent:1","ports":{"8080/tcp":{}}%s}`,
		"a program that ends":        `{"image":"program:2","args":["out:open /var/lib/hunter2","exit:3"],"ports":{"8080/tcp":{}}%s}`,
		"one that is not healthy": `{"image":"program:2","args":["out:dial 10.0.0.7","wait"],"ports":{"8080/tcp":{}},` +
			`"health_check":{"test":["CMD","/program","exit:1"],"interval":"1s","retries":1}%s}`,
	} {
		t.Run(name, func(t *testing.T) {
			for begin, call := range map[string]func(*world) error{"provision": provision(one(1), service), "update": update(one(1), service)} {
				inWorld(t, func(t *testing.T, w *world) {
					w.cluster.AddImage("docker.io/library/absent:1", memory.Image{Missing: true})
					if begin == "update" {
						after(provision(one(1), serves(1)))(w)
					}
					after(call)(w)
					info, err := w.GetProvision(context.Background(), leaseIDs[0])
					if err != nil || info.Reason == "" {
						t.Fatalf("%s: it is %+v, %v", begin, info, err)
					}
					releases, err := w.GetReleases(context.Background(), leaseIDs[0])
					if err != nil {
						t.Fatal(err)
					}
					callbacks := w.calls.Of(leaseIDs[0])
					last := releases[len(releases)-1]
					for where, words := range map[string]string{
						"the lease": info.Message, "its older field": info.LastError, "the release": last.Message, "the release's older field": last.Error,
						"the callback": callbacks[len(callbacks)-1].Error,
					} {
						words = strings.ReplaceAll(words, "exit code 1", "") // of a health command
						if words == "" || strings.ContainsAny(words, "/0123456789") || strings.Contains(words, "absent") || strings.Contains(words, "program") {
							t.Errorf("%s: %s says %q", begin, where, words)
						}
					}
					if info.Reason == "" || last.Reason == "" {
						t.Errorf("%s: the reasons are %q and %q", begin, info.Reason, last.Reason)
					}
				})
			}
		})
	}
}

// A store that hangs in the write of one lease holds up no other, however much there
// is to read in the request.
func TestOneLeaseHoldsUpNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx := context.Background()
		for _, lease := range leaseIDs[:2] {
			if err := w.Provision(ctx, provisionRequest(lease, one(1), alone(serves(1)))); err != nil {
				t.Fatal(err)
			}
		}
		if !w.rest() {
			t.Fatal("they do not come to rest")
		}
		hangs := make(chan struct{})
		w.onMoments(func(_ int, what string) (error, bool) {
			if strings.Contains(what, leaseIDs[0]) {
				<-hangs
			}
			return nil, false
		})
		change := func(lease string) error {
			return w.Update(ctx, backend.UpdateRequest{LeaseUUID: lease, CallbackURL: callbackURL, Payload: alone(serves(2))})
		}
		first, others := make(chan error, 1), make(chan error, 3)
		go func() { first <- change(leaseIDs[0]) }()
		synctest.Wait()
		go func() {
			others <- change(leaseIDs[1])
			others <- w.Provision(ctx, provisionRequest(leaseIDs[2], one(1), alone(serves(1))))
			_, err := w.ListProvisions(ctx)
			others <- err
		}()
		synctest.Wait()
		if len(first) != 0 || len(others) != 3 {
			t.Errorf("%d calls of the lease and %d of others came back while its write hangs", len(first), len(others))
		}
		close(hangs)
		if err := <-first; err != nil {
			t.Error(err)
		}
		for range 3 {
			if err := <-others; err != nil {
				t.Error(err)
			}
		}
		w.onMoments(nil)
		if !w.rest() {
			t.Fatal("they do not come to rest")
		}
		w.checkRest(t, leaseIDs...)
	})
}

// A page costs what is in it, however many leases there are.
func TestAPageCostsWhatIsInIt(t *testing.T) {
	cost := func(leases int) uint64 {
		w := newWorld(t)
		for i := range leases {
			lease := fmt.Sprintf("0190a1b2-0000-7000-8000-%012d", i)
			row := `{"format":1,"lease":"` + lease + `","status":"ready"}`
			if _, err := w.store.Put(context.Background(), "leases/"+lease, []byte(row), ""); err != nil {
				t.Fatal(err)
			}
		}
		w.open()
		middle := fmt.Sprintf("0190a1b2-0000-7000-8000-%012d", leases/2)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			if page, next, err := w.PageProvisions(context.Background(), middle, 10); err != nil || len(page) != 10 || next == "" {
				t.Fatalf("the page has %d leases, then %q, %v", len(page), next, err)
			}
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / 100
	}
	few, many := cost(100), cost(5000)
	t.Logf("a page of 10 takes %d bytes of 100 leases and %d of 5000", few, many)
	if many > 2*few+4096 {
		t.Errorf("a page of 10 takes %d bytes of 100 leases and %d of 5000", few, many)
	}
}

// A refresh has every lease looked at, also those of which nothing has been heard.
func TestARefreshHasEveryLeaseLookedAt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, lease := range leaseIDs {
			if err := w.Provision(context.Background(), provisionRequest(lease, one(1), alone(serves(1)))); err != nil {
				t.Fatal(err)
			}
		}
		if !w.rest() {
			t.Fatal("they do not come to rest")
		}
		ctx, cancel := context.WithCancel(context.Background())
		told, ended, ready := map[string]bool{}, make(chan error, 1), make(chan struct{})
		go func() { ended <- w.Watch(ctx, func() { close(ready) }, func(lease string) { told[lease] = true }) }()
		<-ready
		synctest.Wait()
		if len(told) > 0 {
			t.Errorf("without a refresh %v are to be looked at", told)
		}
		if err := w.RefreshState(context.Background()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		cancel()
		<-ended
		if len(told) != len(leaseIDs) {
			t.Errorf("after a refresh %v are to be looked at", told)
		}
	})
}
