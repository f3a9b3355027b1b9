package rollout

import (
	"context"
	"sync"

	"github.com/berth-cloud/berth/id"
)

// locks lets one goroutine at a time work on a workload. It is for the effects:
// without it a late call forwards could come after the first call back. Records
// need none, they are compared and swapped.
type locks struct {
	mu   sync.Mutex
	keys map[id.ID]*keyLock
}

type keyLock struct {
	turn  chan struct{}
	users int
}

// lock waits for the turn. The function that it returns ends it.
func (l *locks) lock(ctx context.Context, key id.ID) (func(), error) {
	l.mu.Lock()
	if l.keys == nil {
		l.keys = map[id.ID]*keyLock{}
	}
	k := l.keys[key]
	if k == nil {
		k = &keyLock{turn: make(chan struct{}, 1)}
		l.keys[key] = k
	}
	k.users++
	l.mu.Unlock()
	select {
	case k.turn <- struct{}{}:
		return func() {
			<-k.turn
			l.leave(key, k)
		}, nil
	case <-ctx.Done():
		l.leave(key, k)
		return nil, ctx.Err()
	}
}

func (l *locks) leave(key id.ID, k *keyLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.keys, key)
	}
}
