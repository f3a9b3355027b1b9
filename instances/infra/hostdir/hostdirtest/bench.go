package hostdirtest

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/secrets"
)

// Kind is that of the tests' instances.
const Kind = "knc"

// patience bounds a test.
const patience = time.Minute

// Provider is one whose calls a test can end before an effect, as a crash does.
type Provider interface {
	infra.Provider
	CutBefore(cut func(effect string) error)
}

// Bench is a place for machines. All is required.
type Bench struct {
	Owner infra.Owner
	// Dir is the folder of all owners' machines.
	Dir string
	// Open opens the machines once more, as another process does.
	Open func() Provider
	// Running waits until a machine runs.
	Running func(ctx context.Context, p infra.Provider, instanceID string)
	// Count is how many machines of an instance there are: processes, or else
	// folders, as something is left while one is there.
	Count func(instanceID string) int
	// Left is what the host has of a machine outside its folder.
	Left func(providerID string) []string
	// Creates and Deletes are the effects of a create and of a delete.
	Creates, Deletes []string
}

// Home is the folder of an owner's machines below dir.
func Home(dir string, o infra.Owner) string {
	return filepath.Join(dir, o.ClusterID+"."+o.Shard)
}

// Request is a valid request for a new instance.
func Request(o infra.Owner, userData string) infra.CreateInstanceRequest {
	return infra.CreateInstanceRequest{
		ClusterID: o.ClusterID, Shard: o.Shard, Group: "suite", Template: "suite",
		InstanceKind: Kind, InstanceID: id.New(Kind).String(),
		UserData: secrets.NewSecretString(userData),
	}
}

// Patient is the test's context with a deadline.
func Patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Pause lets a moment pass, and reports whether there is more time.
func Pause(ctx context.Context) bool {
	timer := time.NewTimer(10 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Gone deletes a machine until it is not found.
func Gone(ctx context.Context, t testing.TB, p infra.Provider, instanceID string) {
	t.Helper()
	for {
		if err := p.DeleteInstance(ctx, instanceID, ""); err != nil {
			t.Fatalf("delete: %v", err)
		}
		_, err := p.GetInstanceStatus(ctx, instanceID, "")
		if infra.IsNotFound(err) {
			return
		}
		if err != nil || !Pause(ctx) {
			t.Fatalf("not gone: %v, %v", err, ctx.Err())
		}
	}
}

// Buffer is what a logger writes to, for many at once.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (s *Buffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// String is all that was written.
func (s *Buffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
