package backend_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
)

func TestTheWordsOfAFailureStandInBothFields(t *testing.T) {
	for name, p := range map[string]backend.ProvisionInfo{
		"from the newer": {Message: "image pull failed"},
		"from the older": {LastError: "image pull failed"},
		"from either":    {Message: "image pull failed", LastError: "image pull failed"},
	} {
		body, err := json.Marshal(p)
		if err != nil || !strings.Contains(string(body), `"last_error":"image pull failed"`) || !strings.Contains(string(body), `"message":"image pull failed"`) {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
	for name, r := range map[string]backend.ReleaseInfo{
		"from the newer": {Message: "update failed"},
		"from the older": {Error: "update failed"},
	} {
		body, err := json.Marshal(r)
		if err != nil || !strings.Contains(string(body), `"error":"update failed"`) || !strings.Contains(string(body), `"message":"update failed"`) {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
}

func TestBothWritersOfAFailureAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		body          string
		words, older  string
		reason        backend.Reason
		releaseReason backend.Reason
	}{
		"a newer writer":            {`{"status":"failed","reason":"ImagePullFailed","message":"m"}`, "m", "m", backend.ReasonImagePullFailed, backend.ReasonImagePullFailed},
		"an older writer":           {`{"status":"failed","last_error":"m","error":"m"}`, "m", "m", backend.ReasonUnknown, backend.ReasonUnknown},
		"both, with other words":    {`{"status":"failed","reason":"Internal","message":"m","last_error":"o","error":"o"}`, "m", "o", backend.ReasonInternal, backend.ReasonInternal},
		"a reason nobody knows yet": {`{"status":"failed","reason":"Later","message":"m"}`, "m", "m", "Later", "Later"},
		"a failure without words":   {`{"status":"failed"}`, "", "", backend.ReasonUnknown, backend.ReasonUnknown},
		"no failure":                {`{"status":"active","from_a_later_version":{"a":1}}`, "", "", "", ""},
	} {
		var p backend.ProvisionInfo
		if err := json.Unmarshal([]byte(c.body), &p); err != nil || p.Message != c.words || p.LastError != c.older || p.Reason != c.reason {
			t.Errorf("%s, a lease: %+v, %v", name, p, err)
		}
		var r backend.ReleaseInfo
		if err := json.Unmarshal([]byte(c.body), &r); err != nil || r.Message != c.words || r.Error != c.older || r.Reason != c.releaseReason {
			t.Errorf("%s, a release: %+v, %v", name, r, err)
		}
	}
}

func TestALeaseThatIsReadyAgainKeepsAReasonOnlyIfItHasOne(t *testing.T) {
	var p backend.ProvisionInfo
	if err := json.Unmarshal([]byte(`{"status":"ready","reason":"UpdateFailed","message":"m"}`), &p); err != nil || p.Reason != backend.ReasonUpdateFailed {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	p := backend.ProvisionInfo{
		LeaseUUID: "l", ProviderUUID: "p", Status: backend.ProvisionStatusRetained, CreatedAt: at, FailCount: 2,
		LastError: "m", Reason: backend.ReasonInternal, Message: "m", RetainedUntil: at, Tenant: "t", Partition: "part",
		Image: "i", SKU: "s", Quantity: 3, Items: []backend.LeaseItem{{SKU: "s", Quantity: 3, ServiceName: "web", CustomDomain: "d"}},
		ServiceImages: map[string]string{"web": "i"},
	}
	var back backend.ProvisionInfo
	roundTrip(t, p, &back)
	if !reflect.DeepEqual(p, back) {
		t.Errorf("%+v came back as %+v", p, back)
	}
	r := backend.ReleaseInfo{
		Version: 1, Image: "i", Status: backend.ReleaseStatusFailed, CreatedAt: at, Error: "m",
		Reason: backend.ReasonUpdateFailed, Message: "m", Manifest: []byte("{}"),
	}
	var release backend.ReleaseInfo
	roundTrip(t, r, &release)
	if !reflect.DeepEqual(r, release) {
		t.Errorf("%+v came back as %+v", r, release)
	}
}

func roundTrip(t *testing.T, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(body, out)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheWireNamesOfALease(t *testing.T) {
	body, err := json.Marshal(backend.ListProvisionsResponse{Provisions: []backend.ProvisionInfo{{
		LeaseUUID: "l", ProviderUUID: "p", Status: backend.ProvisionStatusReady, CreatedAt: time.Unix(0, 0).UTC(), BackendName: "never on the wire",
	}}})
	want := `{"provisions":[{"lease_uuid":"l","provider_uuid":"p","status":"ready","created_at":"1970-01-01T00:00:00Z","fail_count":0,"quantity":0}]}`
	if err != nil || string(body) != want {
		t.Errorf("%s, %v; want %s", body, err, want)
	}
	body, err = json.Marshal([]backend.ReleaseInfo{{Version: 1, Image: "i", Status: backend.ReleaseStatusActive, CreatedAt: time.Unix(0, 0).UTC(), Manifest: []byte("{}")}})
	want = `[{"version":1,"image":"i","status":"active","created_at":"1970-01-01T00:00:00Z","manifest":"e30="}]`
	if err != nil || string(body) != want {
		t.Errorf("%s, %v; want %s", body, err, want)
	}
}

func TestARequestIsRoutedByItsFirstItem(t *testing.T) {
	r := backend.ProvisionRequest{}
	if r.RoutingSKU() != "" || r.TotalQuantity() != 0 {
		t.Errorf("without items: %q, %d", r.RoutingSKU(), r.TotalQuantity())
	}
	r.Items = []backend.LeaseItem{{SKU: "small", Quantity: 2}, {SKU: "large", Quantity: 1}}
	if r.RoutingSKU() != "small" || r.TotalQuantity() != 3 {
		t.Errorf("with two: %q, %d", r.RoutingSKU(), r.TotalQuantity())
	}
}
