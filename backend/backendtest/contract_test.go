package backendtest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/backendtest"
	"github.com/berth-cloud/berth/backend/callback"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/server"
)

const secret = "0123456789abcdef0123456789abcdef"

// mockFixture is the mock, which does nothing for most features.
func mockFixture() backendtest.Fixture {
	m := backend.NewMockBackend(backend.MockBackendConfig{Name: "mock", ProvisionDelay: 20 * time.Millisecond})
	calls := new(backendtest.Callbacks)
	m.SetCallbackFunc(calls.Record)
	return backendtest.Fixture{
		Backend: m, Lacks: backendtest.AllFeatures(), Callbacks: calls, CallbackURL: "http://holder.example/callbacks",
		SKU: sku, Manifest: []byte(manifest), Other: []byte(other),
		Break:    func(id string) { m.SetProvisionStatus(id, backend.ProvisionStatusFailed) },
		Wait:     backendtest.Poll(2*time.Millisecond, 10*time.Second),
		Parallel: true,
	}
}

func verifier(t testing.TB) *hmacauth.Verifier {
	v, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// overHTTP puts a client and a server in front of the fixture's backend.
func overHTTP(t testing.TB, fx backendtest.Fixture) backendtest.Fixture {
	srv := httptest.NewServer(server.New(fx.Backend, server.Config{Auth: verifier(t)}))
	client := backend.NewHTTPClient(backend.HTTPClientConfig{
		Name: "over HTTP", BaseURL: srv.URL, Secret: secret, ProvisionsPageLimit: 2,
	})
	t.Cleanup(func() { client.Close(); srv.Close() })
	fx.Backend = client
	return fx
}

// told sends what memory has to tell over HTTP too.
func told(t testing.TB, m *memory) backendtest.Fixture {
	fx := m.fixture()
	srv := httptest.NewServer(callback.NewReceiver(callback.Config{Auth: verifier(t), Deliver: m.callbacks.Deliver}))
	client := srv.Client()
	t.Cleanup(func() { client.CloseIdleConnections(); srv.Close() })
	fx.CallbackURL = srv.URL + "/callbacks/provision"
	signed := map[string]time.Time{} // under the lock of memory
	m.tell = func(p backend.CallbackPayload) {
		body, err := json.Marshal(p)
		if err != nil {
			t.Error(err)
			return
		}
		req, err := http.NewRequest(http.MethodPost, fx.CallbackURL, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		at := time.Now()
		if next := signed[p.LeaseUUID].Add(time.Second); at.Before(next) {
			at = next // the same again in one second would be a replay
		}
		signed[p.LeaseUUID] = at
		req.Header.Set(hmacauth.Header, hmacauth.Sign(secret, req.Method, req.URL.RequestURI(), body, at))
		res, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("the callback %s is answered with %s", body, res.Status)
		}
	}
	return fx
}

func TestMockConforms(t *testing.T) {
	backendtest.Run(t, func(testing.TB) backendtest.Fixture { return mockFixture() })
}

func TestMockOverHTTPConforms(t *testing.T) {
	backendtest.Run(t, func(t testing.TB) backendtest.Fixture { return overHTTP(t, mockFixture()) })
}

func TestMemoryOverHTTPConforms(t *testing.T) {
	backendtest.Run(t, func(t testing.TB) backendtest.Fixture {
		fx := overHTTP(t, told(t, newMemory(5*time.Millisecond)))
		fx.Parallel = true
		return fx
	})
}
