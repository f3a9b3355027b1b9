package memory_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/memory/memorytest"
)

var errFull = errors.New("the store is full")

// stubborn is a store that deletes nothing while it is full.
type stubborn struct {
	provider.StateStore
	full bool
}

func (s *stubborn) Delete(ctx context.Context, key string, v provider.Version) error {
	if s.full {
		return errFull
	}
	return s.StateStore.Delete(ctx, key, v)
}

// Whoever follows logs sees the containers go first and the record later.
func TestAStreamEndsWithTheRecordAlsoWhenTheContainersWentLongBefore(t *testing.T) {
	inBubble(t, memory.Sync, func(t *testing.T, w *memorytest.World, _ provider.Provider) {
		store := &stubborn{StateStore: provider.NewMemoryStore()}
		p := memory.New(memory.Options{Cluster: w.Cluster, Store: store})
		req := request()
		provision(t, p, req)
		ready(t, p, req.InstanceID)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := p.Logs(ctx, req.InstanceID, provider.LogOptions{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, stream)
			ended <- err
		}()
		store.full = true
		if err := p.Deprovision(t.Context(), req.InstanceID); !errors.Is(err, errFull) {
			t.Fatalf("Deprovision with a store that is full: %v", err)
		}
		synctest.Wait()
		store.full = false
		if err := p.Deprovision(t.Context(), req.InstanceID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the stream goes on although the instance is gone")
		}
	})
}
