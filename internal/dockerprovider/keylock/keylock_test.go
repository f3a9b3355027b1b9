package keylock

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestHoldersOfOneKeyFollowEachOther(t *testing.T) {
	var l Locks
	var wg sync.WaitGroup
	inside, total := 0, 0
	for range 50 {
		wg.Go(func() {
			release, err := l.Lock(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			inside++
			if inside != 1 {
				t.Error("two hold the lock")
			}
			total++
			inside--
		})
	}
	wg.Wait()
	if total != 50 || len(l.held) != 0 {
		t.Errorf("%d held it, %d keys stay", total, len(l.held))
	}
}

func TestOtherKeysAreNotWaitedFor(t *testing.T) {
	var l Locks
	a, err := l.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer a()
	b, err := l.Lock(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	b()
}

func TestWaitEndsWithItsContext(t *testing.T) {
	var l Locks
	hold, err := l.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := l.Lock(ctx, "a")
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	hold()
	hold() // a second release changes nothing
	again, err := l.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	again()
	if len(l.held) != 0 {
		t.Errorf("%d keys stay", len(l.held))
	}
}

func TestEndedContextTakesNoLock(t *testing.T) {
	var l Locks
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Lock(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(l.held) != 0 {
		t.Error("a key stays")
	}
}
