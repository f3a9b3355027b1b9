package leaseholder_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/test/leaseholder"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "0123456789abcdef0123456789abcdef"
	lease  = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"
)

func start(t *testing.T) *leaseholder.Holder {
	t.Helper()
	h, err := leaseholder.Start(t.Context(), leaseholder.Config{BackendURL: "http://127.0.0.1:1", Secret: secret, Callback: secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func send(t *testing.T, h *leaseholder.Holder, with string, at time.Time) int {
	t.Helper()
	body := `{"lease_uuid":"` + lease + `","status":"success"}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.CallbackURL(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	key, err := hmacauth.NewKey(with)
	if err != nil {
		t.Fatal(err)
	}
	key.SignRequest(req, []byte(body), at)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestACallbackIsKeptInItsOrderAndOnlyOnceForOneSignature(t *testing.T) {
	h, now := start(t), time.Now()
	for i, want := range []int{1, 1, 2} {
		if code := send(t, h, secret, now.Add(time.Duration(i/2)*-time.Second)); code != http.StatusOK {
			t.Fatalf("callback %d: %d", i, code)
		}
		if got := h.Callbacks(lease); len(got) != want || got[0].Status != backend.CallbackStatusSuccess {
			t.Errorf("after callback %d there are %v; want %d", i, got, want)
		}
	}
	if p, err := h.Await(t.Context(), lease, 2); err != nil || p.LeaseUUID != lease {
		t.Errorf("the second is %v, %v", p, err)
	}
}

func TestACallbackOfSomebodyElseIsNotKept(t *testing.T) {
	h := start(t)
	if code := send(t, h, strings.Repeat("x", 32), time.Now()); code != http.StatusUnauthorized || len(h.Callbacks(lease)) > 0 {
		t.Errorf("%d, %v", code, h.Callbacks(lease))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := h.Await(ctx, lease, 1); !errors.Is(err, leaseholder.ErrNoCallback) {
		t.Errorf("a callback that never comes: %v", err)
	}
}
