package backendadmin

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/wire"
)

// TestALeaseOfTheProtocolIsReadWhole holds the types of the command line, which links
// nothing of the protocol, against it.
func TestALeaseOfTheProtocolIsReadWhole(t *testing.T) {
	at := time.Date(2026, time.March, 4, 10, 0, 0, 0, time.UTC)
	in := backend.ProvisionInfo{
		LeaseUUID: lease, ProviderUUID: "p", Status: backend.ProvisionStatusRetained, CreatedAt: at, FailCount: 2, Reason: backend.ReasonInternal,
		LastError: "m", Message: "m", RetainedUntil: at.Add(time.Hour), Tenant: "t", Partition: "part", Image: "i", SKU: "s", Quantity: 3,
		Items: []backend.LeaseItem{{SKU: "s", Quantity: 3, ServiceName: "app", CustomDomain: "d.example"}}, ServiceImages: map[string]string{"app": "i"},
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		wire.BackendLease
		LastError string `json:"last_error"` // what Message says, too
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if want := leaseOf(in); !reflect.DeepEqual(got.BackendLease, want) {
		t.Errorf("it is read as\n%+v, want\n%+v", got.BackendLease, want)
	}
	v := reflect.ValueOf(got.BackendLease)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("field %s is not tried", v.Type().Field(i).Name)
		}
	}
}
