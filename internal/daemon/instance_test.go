package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

func TestADaemonOnACopyOfTheDataDirectoryIsRefused(t *testing.T) {
	id := rand.Text()
	first, err := claimInstance(t.Context(), id, "/data")
	if err != nil {
		t.Fatal(err)
	}
	other, err := claimInstance(t.Context(), rand.Text(), "/elsewhere")
	if err != nil {
		t.Fatalf("another instance: %v", err)
	}
	defer other.Close()
	if _, err := claimInstance(t.Context(), id, "/copy"); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "copy of /copy") {
		t.Errorf("a second one: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := claimInstance(t.Context(), id, "/data")
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	_ = again.Close()
}

func TestALockIsWaitedForAsLongAsAKilledProcessMayHoldIt(t *testing.T) {
	locked := fmt.Errorf("%w: by 7", store.ErrLocked)
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		held time.Duration
		then error
		want error
		took time.Duration
	}{
		"free":            {},
		"dying":           {held: lockPatience / 2, took: lockPatience / 2},
		"alive":           {held: time.Hour, want: store.ErrLocked, took: lockPatience},
		"another failure": {then: broken, want: broken},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := unlocked(t.Context(), func() (int, error) {
				if time.Since(start) < c.held {
					return 0, locked
				}
				return 1, c.then
			})
			if took := time.Since(start); !errors.Is(err, c.want) || took != c.took {
				t.Errorf("%s: %v after %v, want %v after %v", name, err, took, c.want, c.took)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := unlocked(ctx, func() (int, error) { return 0, locked }); !errors.Is(err, store.ErrLocked) {
		t.Errorf("called off: %v", err)
	}
}
