package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// What a provider says of a workload that failed, by its reason: of the instance, and of
// one of its services alone.
func TestReasonsOfAProviderHaveWordsForTenants(t *testing.T) {
	for reason, want := range map[provider.Reason]string{
		provider.ReasonImageUnavailable: "ImagePullFailed: image pull failed",
		provider.ReasonOutOfMemory:      "ContainerExited: container ran out of memory",
		provider.ReasonStartFailed:      "ContainerExited: container could not start",
		provider.ReasonExited:           "ContainerExited: container exited during startup",
		provider.ReasonCrashLoop:        "ContainerExited: container exited during startup",
		provider.ReasonUnhealthy:        "ContainerExited: container reported unhealthy",
		provider.ReasonReadyTimeout:     "ContainerExited: container reported unhealthy",
		provider.ReasonNoCapacity:       "Internal: no capacity for the container",
		provider.ReasonVolumeInUse:      "Internal: a volume is still in use",
		provider.ReasonRolloutFailed:    "ContainerExited: the new containers did not become ready",
		"":                              "Internal: internal error",
		"SomethingNew":                  "Internal: internal error",
	} {
		for where, st := range map[string]*provider.InstanceStatus{
			"the instance": {Reason: reason},
			"its service":  {Services: map[string]provider.ServiceStatus{"app": {Reason: reason}}},
		} {
			if code, words := hosting.Explain(st, nil); fmt.Sprintf("%s: %s", code, words) != want {
				t.Errorf("%q of %s is %s: %s; want %s", reason, where, code, words, want)
			}
		}
	}
}

func TestATenantThatTheProviderWouldRefuseIsRefusedAtOnce(t *testing.T) {
	w := newWorld(t)
	for _, tenant := range []string{"", ".", "a b", "a\nb", "a\x1b[2J", "é", strings.Repeat("a", secrets.MaxTenantBytes+1)} {
		req := provisionRequest(leaseIDs[0], one(1), alone(serves(1)))
		req.Tenant = tenant
		if err := w.Provision(context.Background(), req); !errors.Is(err, backend.ErrValidation) || tenant != "" && strings.Contains(err.Error(), " "+tenant) {
			t.Errorf("%q: %v", tenant, err)
		}
	}
	if w.Knows(leaseIDs[0]) {
		t.Error("a lease is there that was refused")
	}
	req := provisionRequest(leaseIDs[0], one(1), alone(serves(1)))
	req.Tenant = "did:key:z6Mk_1.x@example.com-" + strings.Repeat("a", 90)
	if err := w.Provision(context.Background(), req); err != nil {
		t.Error(err)
	}
}

// The length of a name depends on the disk, and is told before anything is accepted.
func TestALongNameIsTakenOrRefusedBeforeALeaseIsAccepted(t *testing.T) {
	for _, c := range []struct {
		length int
		sku    string
		kind   error
	}{
		{provider.MaxServiceNameLength, micro, nil},
		{provider.MaxStatefulNameLength, disk, nil},
		{provider.MaxStatefulNameLength + 1, disk, backend.ErrInvalidManifest},
	} {
		t.Run(fmt.Sprintf("%d of %s", c.length, c.sku), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				name := strings.Repeat("n", c.length)
				items := []backend.LeaseItem{{SKU: c.sku, Quantity: 2, ServiceName: name}}
				payload := fmt.Appendf(nil, `{"services":{%q:`+serves(1)+`}}`, name, "")
				err := w.Provision(context.Background(), provisionRequest(leaseIDs[0], items, payload))
				if !errors.Is(err, c.kind) || (err == nil) != (c.kind == nil) {
					t.Fatalf("it is %v", err)
				}
				if err != nil {
					if !strings.Contains(err.Error(), "a name of more than 59 characters, which no service with a disk can have") {
						t.Errorf("it says %v", err)
					}
					return
				}
				w.ends(t, backend.ProvisionStatusReady, success)
			})
		})
	}
}
