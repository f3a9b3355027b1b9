package storetest

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/berth-cloud/berth/internal/store"
)

func concurrencyTests() []test {
	return []test{
		{"OneOfManyExpectingTheSameGenerationWins", concurrentExpect},
		{"OneAppOfManyGetsANameAndADomain", concurrentNames},
		{"NumbersAndVersionsAreUnique", concurrentNumbers},
		{"NoAddressIsGivenTwice", concurrentAddresses},
		{"ReadersSeeWholeChanges", concurrentReaders},
	}
}

const crowd = 24

// together runs fn many times at once.
func together(fn func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range crowd {
		wg.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	wg.Wait()
}

func concurrentExpect(e *env) {
	e.apply(applying("shop", svc("shop", "web")))
	var won atomic.Int32
	together(func(int) {
		c := applying("shop", svc("shop", "web"))
		c.Expect = map[string]int64{"shop-web": 1}
		_, err := e.s.ApplyChange(e.ctx, c)
		if err == nil {
			won.Add(1)
		} else if !errors.Is(err, store.ErrConflict) {
			e.Error(err)
		}
	})
	same(e, "winners", won.Load(), 1)
	same(e, "generation", e.desired("shop-web").Generation, 2)
	same(e, "attempts", len(must[[]store.Attempt](e)(e.s.ListAttempts(e.ctx, "shop", 0))), 2)
}

func concurrentNames(e *env) {
	var names, domains atomic.Int32
	together(func(i int) {
		app := []string{"a", "a-b"}[i%2]
		_, err := e.s.ApplyChange(e.ctx, applying(app, svc(app, []string{"b-c", "c"}[i%2])))
		if err != nil && !errors.Is(err, store.ErrNameTaken) {
			e.Error(err)
		}
		if err != nil {
			names.Add(1)
		}
		app = fmt.Sprint("app", i)
		_, err = e.s.ApplyChange(e.ctx, applying(app, svc(app, "web", "one.example")))
		if err != nil && !errors.Is(err, store.ErrDomainTaken) {
			e.Error(err)
		}
		if err == nil {
			domains.Add(1)
		}
	})
	same(e, "refused names", names.Load(), crowd/2)
	same(e, "owners of the domain", domains.Load(), 1)
}

func concurrentNumbers(e *env) {
	var mu sync.Mutex
	seen := map[string]int{}
	together(func(i int) {
		r, err := e.s.CreateRelease(e.ctx, release("shop-web", "web@sha256:aa", fmt.Sprint(i)))
		if err != nil {
			e.Error(err)
		}
		a, err := e.s.SetActiveRelease(e.ctx, activeRow("shop-web", r.ID))
		if err != nil {
			e.Error(err)
		}
		t, err := e.s.ApplyChange(e.ctx, applying("shop", svc("shop", "web")))
		if err != nil {
			e.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		seen[r.ID]++
		seen[fmt.Sprint("version ", a.Version)]++
		seen[fmt.Sprint("attempt ", t.ID)]++
	})
	same(e, "numbers", len(seen), 3*crowd)
	same(e, "newest version", e.routes().Version, crowd)
	same(e, "generation", e.desired("shop-web").Generation, crowd)
	same(e, "open", len(must[[]store.AttemptService](e)(e.s.OpenAttempts(e.ctx, "shop-web"))), 1)
}

func concurrentAddresses(e *env) {
	e.subnet("shop", "10.9.1.0/28") // 13 addresses
	var mu sync.Mutex
	got := map[netip.Addr]string{}
	var full atomic.Int32
	together(func(i int) {
		c := fmt.Sprint("c", i)
		ip, err := e.s.TakeAddress(e.ctx, ask(c, at(0), 0))
		if errors.Is(err, store.ErrSubnetFull) {
			full.Add(1)
			return
		}
		if err != nil {
			e.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if other, twice := got[ip]; twice {
			e.Errorf("%s went to %s and %s", ip, other, c)
		}
		got[ip] = c
	})
	same(e, "given", len(got), 13)
	same(e, "refused", full.Load(), crowd-13)
}

func concurrentReaders(e *env) {
	e.apply(applying("shop", svc("shop", "web"), svc("shop", "api")))
	together(func(i int) {
		if i%4 == 0 {
			for range 5 {
				if _, err := e.s.ApplyChange(e.ctx, applying("shop", svc("shop", "web"), svc("shop", "api"))); err != nil {
					e.Error(err)
				}
			}
			return
		}
		for range 20 {
			all, err := e.s.ListDesiredServices(e.ctx, "shop")
			if err != nil || len(all) != 2 || all[0].Generation != all[1].Generation || all[0].AttemptID != all[1].AttemptID {
				e.Errorf("half a change is seen: %+v, %v", all, err)
				return
			}
		}
	})
}
