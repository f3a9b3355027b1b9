package storagetest

import (
	"fmt"
	"slices"
	"sync"
)

func listOrder(e *env) {
	keys := []string{"b", "a-b", "a/b", "a/c/d", "a.b", "B", "a0", "a_b", "a:b", "a@b", "a/b0", "a/c-d", "10", "9"}
	for _, k := range keys {
		e.put(k, k)
	}
	slices.Sort(keys)
	e.lists("", keys...)
}

func listPages(e *env) {
	const n = 257
	var want []string
	for i := range n {
		key := fmt.Sprintf("instance/acme.%04d.json", i)
		want = append(want, key)
	}
	race(8, func(w int) {
		for i := w; i < n; i += 8 {
			if _, err := e.s.Put(e.ctx, want[i], []byte(want[i])); err != nil {
				e.Error(err)
			}
		}
	})
	e.put("instance-other", "x")
	e.put("leader.json", "x")
	e.lists("instance/", want...)
}

func listPrefix(e *env) {
	for _, k := range []string{"a/acme.1", "a/acme.2", "a/acme2.1", "a/b/acme.1", "ab", "b/acme.1"} {
		e.put(k, k)
	}
	e.lists("a/acme.", "a/acme.1", "a/acme.2")
	e.lists("a/acme", "a/acme.1", "a/acme.2", "a/acme2.1")
	e.lists("a/", "a/acme.1", "a/acme.2", "a/acme2.1", "a/b/acme.1")
	e.lists("a", "a/acme.1", "a/acme.2", "a/acme2.1", "a/b/acme.1", "ab")
	e.lists("a/acme.1", "a/acme.1")
	e.lists("a/b/", "a/b/acme.1")
}

func listNothing(e *env) {
	e.lists("")
	e.put("a/k", "x")
	e.lists("b")
	e.lists("a/k/")
	e.lists("a/k/below/that")
	e.lists("a/k2")
	e.lists("none/of/that")
}

func listMeanwhile(e *env) {
	const n = 40
	for i := range n {
		e.put(fmt.Sprintf("a/%03d", i), "0")
	}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	writers.Go(func() {
		for round := 1; ; round++ {
			for i := range n {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := e.s.Put(e.ctx, fmt.Sprintf("a/%03d", i), fmt.Append(nil, round)); err != nil {
					e.Error(err)
					return
				}
			}
		}
	})
	for range 10 {
		if got := e.keys("a/"); len(got) != n {
			e.Errorf("%d of %d objects are listed while they are written", len(got), n)
			break
		}
	}
	close(stop)
	writers.Wait()
}
