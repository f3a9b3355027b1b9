package hosting

import (
	"context"
	"sync"
)

// turns lets one at a time do something for a key.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

type turn struct {
	token chan struct{} // holds one
	users int
}

// take waits for the turn of a key, or for the end of ctx. The turn is given back by
// what it returns.
func (t *turns) take(ctx context.Context, key string) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	one := t.of[key]
	if one == nil {
		one = &turn{token: make(chan struct{}, 1)}
		one.token <- struct{}{}
		if t.of == nil {
			t.of = map[string]*turn{}
		}
		t.of[key] = one
	}
	one.users++
	t.mu.Unlock()
	forget := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.of, key)
		}
	}
	select {
	case <-one.token:
		return func() { one.token <- struct{}{}; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}
