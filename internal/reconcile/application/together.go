package application

import "sync"

// together calls f for 0..n-1 at once and waits for all. A panic in one of
// them is raised again here, on the pass's own goroutine, where the engine
// catches it.
func together(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	panics := make([]any, n)
	for i := range n {
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			f(i)
		})
	}
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}
