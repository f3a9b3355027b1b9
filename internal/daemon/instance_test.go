package daemon

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

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
