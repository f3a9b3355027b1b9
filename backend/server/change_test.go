package server_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
)

// helloHash is the SHA-256 of "hello", whose base64 is aGVsbG8=.
const helloHash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

const (
	okProvision = `{"lease_uuid":"` + lease1 + `","tenant":"t","provider_uuid":"p","items":[{"sku":"s","quantity":1}],"callback_url":"http://holder:1/cb","payload":"aGVsbG8=","payload_hash":"` + helloHash + `","later":{"x":1}}`
	okRestart   = `{"lease_uuid":"` + lease1 + `","callback_url":"https://holder/cb"}`
	okUpdate    = `{"lease_uuid":"` + lease1 + `","callback_url":"http://localhost/cb","payload":"aGVsbG8="}`
	okRestore   = `{"lease_uuid":"` + lease1 + `","from_lease_uuid":"` + lease2 + `","tenant":"t","provider_uuid":"p","items":[{"sku":"s","quantity":1,"service_name":"web"}],"callback_url":"http://10.0.0.1/cb"}`
	okDomain    = `{"lease_uuid":"` + lease1 + `","items":[{"sku":"s","quantity":1,"custom_domain":"a.example"}]}`
	okGone      = `{"lease_uuid":"` + lease1 + `"}`
)

func TestAChangeReachesTheBackendAsItWasAsked(t *testing.T) {
	item := backend.LeaseItem{SKU: "s", Quantity: 1, ServiceName: "app"}
	web, domain := item, item
	web.ServiceName, domain.CustomDomain = "web", "a.example"
	for _, c := range []struct {
		path, body string
		code       int
		answer     string
		asked      any
	}{
		{"/provision", okProvision, 202, `{"provision_id":"` + lease1 + `"}`, backend.ProvisionRequest{
			LeaseUUID: lease1, Tenant: "t", ProviderUUID: "p", Items: []backend.LeaseItem{item},
			CallbackURL: "http://holder:1/cb", Payload: []byte("hello"), PayloadHash: helloHash,
		}},
		{"/deprovision", okGone, 200, `{"status":"ok"}`, backend.DeprovisionRequest{LeaseUUID: lease1}},
		{"/deprovision", strings.ToUpper(okGone), 200, `{"status":"ok"}`, backend.DeprovisionRequest{LeaseUUID: lease1}},
		{"/restart", okRestart, 202, `{"status":"restarting"}`, backend.RestartRequest{LeaseUUID: lease1, CallbackURL: "https://holder/cb"}},
		{"/update", okUpdate, 202, `{"status":"updating"}`, backend.UpdateRequest{
			LeaseUUID: lease1, CallbackURL: "http://localhost/cb", Payload: []byte("hello"),
		}},
		{"/restore", okRestore, 202, `{"status":"restoring"}`, backend.RestoreRequest{
			LeaseUUID: lease1, FromLeaseUUID: lease2, Tenant: "t", ProviderUUID: "p",
			Items: []backend.LeaseItem{web}, CallbackURL: "http://10.0.0.1/cb",
		}},
		{"/reconcile_custom_domain", okDomain, 204, "", backend.ReconcileCustomDomainRequest{LeaseUUID: lease1, Items: []backend.LeaseItem{domain}}},
	} {
		b := &scripted{}
		got := ask(t, unsigned(b), "POST", c.path, c.body)
		if got.code != c.code || got.body != c.answer {
			t.Errorf("%s is answered with %d %s, want %d %s", c.path, got.code, got.body, c.code, c.answer)
		}
		if !reflect.DeepEqual(b.last(), c.asked) {
			t.Errorf("%s asked the backend for %+v, want %+v", c.path, b.last(), c.asked)
		}
	}
}

func TestARequestThatIsNotWellFormedReachesNoBackend(t *testing.T) {
	change := func(body, from, to string) string {
		if !strings.Contains(body, from) {
			t.Fatalf("%s is not in %s", from, body)
		}
		return strings.Replace(body, from, to, 1)
	}
	long := strings.Repeat("x", 300)
	two := `[{"sku":"s","quantity":1},{"sku":"s","quantity":1}]`
	one := `[{"sku":"s","quantity":1}]`
	for _, c := range []struct {
		name, path, body string
		code             backend.ValidationCode
	}{
		{"nothing", "/provision", "", ""},
		{"no JSON", "/provision", "{", ""},
		{"no object", "/provision", "null", ""},
		{"a list", "/restart", "[]", ""},
		{"two objects", "/restart", okRestart + okRestart, ""},
		{"a number for a string", "/deprovision", `{"lease_uuid":1}`, ""},
		{"no lease", "/provision", change(okProvision, lease1, ""), ""},
		{"a lease that is no UUID", "/deprovision", `{"lease_uuid":"lease-1"}`, ""},
		{"a lease in braces", "/deprovision", `{"lease_uuid":"{` + lease1 + `}"}`, ""},
		{"a lease without hyphens", "/deprovision", `{"lease_uuid":"` + strings.ReplaceAll(lease1, "-", "") + `"}`, ""},
		{"no items", "/provision", change(okProvision, one, "[]"), ""},
		{"items without names", "/provision", change(okProvision, one, two), backend.ValidationCodeInvalidManifest},
		{"too many of an item", "/provision", change(okProvision, `"quantity":1`, `"quantity":1025`), ""},
		{"less than none of an item", "/provision", change(okProvision, `"quantity":1`, `"quantity":-1`), ""},
		{"too many items", "/provision", change(okProvision, one, "["+strings.Repeat(`{"sku":"s","service_name":"a"},`, 1024)+`{"sku":"s"}]`), ""},
		{"a long SKU", "/provision", change(okProvision, `"sku":"s"`, `"sku":"`+long+`"`), ""},
		{"a long tenant", "/provision", change(okProvision, `"t"`, `"`+long+`"`), ""},
		{"a payload of another hash", "/provision", change(okProvision, "aGVsbG8=", "aGVsbG9v"), backend.ValidationCodeInvalidManifest},
		{"a hash of no payload", "/provision", change(okProvision, "aGVsbG8=", ""), backend.ValidationCodeInvalidManifest},
		{"a hash that is none", "/provision", change(okProvision, helloHash, "zz"), backend.ValidationCodeInvalidManifest},
		{"a payload that is not base64", "/provision", change(okProvision, "aGVsbG8=", "?"), ""},
		{"an update to nothing", "/update", change(okUpdate, `"aGVsbG8="`, `""`), ""},
		{"an update of another hash", "/update", change(okUpdate, `"payload"`, `"payload_hash":"00","payload"`), backend.ValidationCodeInvalidManifest},
		{"a restart that tells nobody", "/restart", okGone, ""},
		{"a restore of nothing", "/restore", change(okRestore, lease2, ""), ""},
		{"a restore without items", "/restore", change(okRestore, `"items"`, `"others"`), ""},
		{"domains of no items", "/reconcile_custom_domain", okGone, ""},
	} {
		b := &scripted{}
		got := ask(t, unsigned(b), "POST", c.path, c.body)
		if e := got.refused(t); got.code != 400 || e.ValidationCode != c.code {
			t.Errorf("%s is answered with %d %+v, want 400 with the code %q", c.name, got.code, e, c.code)
		}
		if b.last() != nil {
			t.Errorf("%s reached the backend as %+v", c.name, b.last())
		}
	}
}

func TestACallbackGoesOnlyWhereItMay(t *testing.T) {
	for url, code := range map[string]int{
		"http://holder/cb": 202, "https://holder:8443/cb?x=1": 202, "http://localhost:1": 202, "http://127.0.0.1/": 202,
		"http://192.168.1.4/": 202, "http://[::1]/": 202, "http://[fd00::1]/": 202,
		"": 400, "holder/cb": 400, "/cb": 400, "ftp://holder/": 400, "file:///etc/passwd": 400, "http://": 400, "http://:80/": 400,
		"http:holder": 400, "http://%zz/": 400, "javascript:alert(1)": 400,
		"http://169.254.169.254/latest": 400, "http://169.254.0.1.": 400, "http://[fe80::1]/": 400, "http://[fe80::1%25eth0]/": 400,
		"http://[::ffff:169.254.169.254]/": 400, "http://[ff02::1]/": 400, "http://[febf::1]:80/": 400,
		"http://holder/" + strings.Repeat("x", 2048): 400,
	} {
		b := &scripted{}
		body := strings.Replace(okRestart, "https://holder/cb", url, 1)
		if got := ask(t, unsigned(b), "POST", "/restart", body); got.code != code || (code == 400) != (b.last() == nil) {
			t.Errorf("the callback URL %q is answered with %d, want %d", url, got.code, code)
		}
	}
}

func TestABodyIsBounded(t *testing.T) {
	b := &scripted{}
	got := ask(t, unsigned(b), "POST", "/restart", `{"x":"`+strings.Repeat("x", 2<<20)+`"}`)
	if e := got.refused(t); got.code != 413 || b.last() != nil {
		t.Errorf("it is answered with %d %+v", got.code, e)
	}
}

func FuzzARequestIsAnsweredOnce(f *testing.F) {
	for i, body := range []string{okProvision, okGone, okRestart, okUpdate, okRestore, okDomain, "{}", "null", `{"items":null}`} {
		f.Add(uint8(i), []byte(body))
	}
	paths := []string{"/provision", "/deprovision", "/restart", "/update", "/restore", "/reconcile_custom_domain"}
	f.Fuzz(func(t *testing.T, path uint8, body []byte) {
		b := &scripted{}
		got := ask(t, unsigned(b), "POST", paths[int(path)%len(paths)], string(body))
		if asked := b.last() != nil; asked != (got.code < 300) || !asked && got.code != 400 {
			t.Errorf("it is answered with %d %s, and the backend was asked for %+v", got.code, got.body, b.last())
		}
	})
}
