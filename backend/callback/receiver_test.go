package callback_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/callback"
	"github.com/berth-cloud/berth/backend/hmacauth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "0123456789abcdef0123456789abcdef"
	lease  = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"
	path   = "/callbacks/provision"
	body   = `{"lease_uuid":"` + lease + `","status":"success","backend":"docker-1","later":1}`
)

// ledger notes what it is given.
type ledger struct {
	mu  sync.Mutex
	got []backend.CallbackPayload
	err error
	on  func(ctx context.Context) error
}

func (l *ledger) deliver(ctx context.Context, p backend.CallbackPayload) error {
	l.mu.Lock()
	l.got = append(l.got, p)
	on, err := l.on, l.err
	l.mu.Unlock()
	if on != nil {
		return on(ctx)
	}
	return err
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.got)
}

func receiver(t *testing.T, l *ledger, change func(*callback.Config)) *callback.Receiver {
	t.Helper()
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := callback.Config{Auth: verifier, Deliver: l.deliver}
	if change != nil {
		change(&cfg)
	}
	return callback.NewReceiver(cfg)
}

func signature(body string) string {
	return hmacauth.Sign(secret, "POST", path, []byte(body), time.Now())
}

func post(h http.Handler, body, header string) *httptest.ResponseRecorder {
	req := httptest.NewRequest("POST", path, strings.NewReader(body))
	req.Header.Set(hmacauth.Header, header)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

func TestACallbackIsDelivered(t *testing.T) {
	l := &ledger{}
	rec := post(receiver(t, l, nil), body, signature(body))
	want := backend.CallbackPayload{LeaseUUID: lease, Status: backend.CallbackStatusSuccess, Backend: "docker-1"}
	if rec.Code != 200 || strings.TrimSpace(rec.Body.String()) != `{"status":"ok"}` || rec.Header().Get("Content-Type") != "application/json" {
		t.Errorf("it is answered with %d %s", rec.Code, rec.Body)
	}
	if l.count() != 1 || l.got[0] != want {
		t.Errorf("delivered are %+v, want %+v", l.got, want)
	}
}

func TestWhatIsNoCallbackIsNotDelivered(t *testing.T) {
	of := func(lease, status string) string {
		return fmt.Sprintf(`{"lease_uuid":%q,"status":%q}`, lease, status)
	}
	good := of(lease, "failed")
	for _, c := range []struct {
		name, body, header string
		code               int
	}{
		{"no signature", good, "", 401},
		{"a wrong signature", good, signature(body), 401},
		{"a header that is none", good, "t=1", 401},
		{"an old signature", good, hmacauth.Sign(secret, "POST", path, []byte(good), time.Now().Add(-6*time.Minute)), 401},
		{"one for elsewhere", good, hmacauth.Sign(secret, "POST", "/provision", []byte(good), time.Now()), 401},
		{"nothing", "", signature(""), 400},
		{"null", "null", signature("null"), 400},
		{"a list", "[]", signature("[]"), 400},
		{"half of it", good[:20], signature(good[:20]), 400},
		{"two of it", good + good, signature(good + good), 400},
		{"no lease", of("", "success"), signature(of("", "success")), 400},
		{"a lease in braces", of("{"+lease+"}", "success"), signature(of("{"+lease+"}", "success")), 400},
		{"another status", of(lease, "ready"), signature(of(lease, "ready")), 400},
		{"no status", of(lease, ""), signature(of(lease, "")), 400},
		{"too much", good + strings.Repeat(" ", 64<<10), signature(good + strings.Repeat(" ", 64<<10)), 413},
	} {
		l := &ledger{}
		rec := post(receiver(t, l, nil), c.body, c.header)
		if rec.Code != c.code || l.count() != 0 || !strings.HasPrefix(rec.Body.String(), `{"error":"`) {
			t.Errorf("%s is answered with %d %s and delivered %d times, want %d", c.name, rec.Code, rec.Body, l.count(), c.code)
		}
	}
}

func TestOnlyAPostIsACallback(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE"} {
		rec := httptest.NewRecorder()
		receiver(t, &ledger{}, nil).ServeHTTP(rec, httptest.NewRequest(method, path, nil))
		if rec.Code != 405 || rec.Header().Get("Allow") != "POST" {
			t.Errorf("%s is answered with %d", method, rec.Code)
		}
	}
}

func TestWithoutALedgerOrASecretCallbacksComeAgainLater(t *testing.T) {
	for name, change := range map[string]func(*callback.Config){
		"ledger": func(c *callback.Config) { c.Deliver = nil },
		"secret": func(c *callback.Config) { c.Auth = nil },
	} {
		l := &ledger{}
		if rec := post(receiver(t, l, change), body, signature(body)); rec.Code != 503 || l.count() != 0 {
			t.Errorf("without a %s it is answered with %d", name, rec.Code)
		}
	}
}

func TestTheWordsOfACallbackAreOneBoundedLine(t *testing.T) {
	text := `{"lease_uuid":"` + strings.ToUpper(lease) + `","status":"deprovisioned","retained":true,"error":"a\nb\u0000c` + strings.Repeat("é", 300) + `"}`
	l := &ledger{}
	if rec := post(receiver(t, l, nil), text, signature(text)); rec.Code != 200 {
		t.Fatalf("it is answered with %d %s", rec.Code, rec.Body)
	}
	got := l.got[0]
	if got.Error != "a bc"+strings.Repeat("é", 252) || got.LeaseUUID != lease || !got.Retained {
		t.Errorf("delivered is %+v", got)
	}
}

func TestTheSameSignatureIsDeliveredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{}
		h := receiver(t, l, nil)
		header := signature(body)
		stamp, mac, _ := strings.Cut(header, ",sha256=")
		for _, again := range []string{
			header, header, stamp + " , sha256=" + strings.ToUpper(mac) + " ", strings.Replace(header, "t=", "t=+", 1), strings.Replace(header, "t=", "t=00", 1),
		} {
			if rec := post(h, body, again); rec.Code != 200 {
				t.Errorf("%q is answered with %d %s", again, rec.Code, rec.Body)
			}
		}
		if l.count() != 1 {
			t.Errorf("it was delivered %d times", l.count())
		}
		<-time.After(time.Second)
		if post(h, body, signature(body)); l.count() != 2 {
			t.Errorf("signed anew it was not delivered")
		}
		<-time.After(5*time.Minute - time.Second)
		if rec := post(h, body, header); rec.Code != 200 || l.count() != 2 {
			t.Errorf("at its last second it is answered with %d and delivered %d times", rec.Code, l.count())
		}
	})
}

func TestWhatFailedIsDeliveredAgain(t *testing.T) {
	for name, on := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return errors.New("the store at /var/lib is gone") },
		"a panic":  func(context.Context) error { panic("inside") },
	} {
		l := &ledger{on: on}
		h, header := receiver(t, l, nil), signature(body)
		if rec := post(h, body, header); rec.Code != 500 || strings.TrimSpace(rec.Body.String()) != `{"error":"internal error"}` {
			t.Errorf("%s is answered with %d %s", name, rec.Code, rec.Body)
		}
		l.on = nil
		if rec := post(h, body, header); rec.Code != 200 || l.count() != 2 {
			t.Errorf("after %s it is answered with %d and was delivered %d times", name, rec.Code, l.count())
		}
	}
}

func TestSameCallbacksAtOnceWaitForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		l := &ledger{on: func(context.Context) error { <-release; return nil }}
		h, header := receiver(t, l, nil), signature(body)
		codes := make(chan int, 20)
		for range cap(codes) {
			go func() { codes <- post(h, body, header).Code }()
		}
		synctest.Wait()
		if l.count() != 1 || len(codes) != 0 {
			t.Errorf("%d were delivered and %d answered before the first was", l.count(), len(codes))
		}
		close(release)
		for range cap(codes) {
			if code := <-codes; code != 200 {
				t.Errorf("one is answered with %d", code)
			}
		}
		if l.count() != 1 {
			t.Errorf("%d were delivered", l.count())
		}
	})
}

func TestADeliveryOutlivesItsSenderAndNotItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{on: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		h := receiver(t, l, func(c *callback.Config) { c.Timeout = 9 * time.Second })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req := httptest.NewRequestWithContext(ctx, "POST", path, strings.NewReader(body))
		req.Header.Set(hmacauth.Header, signature(body))
		began, rec := time.Now(), httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if took := time.Since(began); took != 9*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestTheMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{}
		h := receiver(t, l, func(c *callback.Config) { c.Remember = 2 })
		first := signature(body)
		post(h, body, first)
		for range 2 {
			<-time.After(time.Second)
			post(h, body, signature(body))
		}
		if post(h, body, first); l.count() != 4 {
			t.Errorf("the oldest answer of three is kept where two are: %d deliveries", l.count())
		}
		release := make(chan struct{})
		l.mu.Lock()
		l.on = func(context.Context) error { <-release; return nil }
		l.mu.Unlock()
		for range 2 {
			<-time.After(time.Second)
			header := signature(body)
			go post(h, body, header)
		}
		<-time.After(time.Second)
		if rec := post(h, body, signature(body)); rec.Code != 503 {
			t.Errorf("a third delivery at once is answered with %d", rec.Code)
		}
		close(release)
		synctest.Wait()
		if rec := post(h, body, signature(body)); rec.Code != 200 {
			t.Errorf("after those it is answered with %d", rec.Code)
		}
	})
}

func FuzzACallbackIsDeliveredOrRefused(f *testing.F) {
	f.Add([]byte(body))
	f.Add([]byte(`{"lease_uuid":"x"}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := &ledger{}
		rec := post(receiver(t, l, nil), string(text), signature(string(text)))
		if delivered := l.count() == 1; delivered != (rec.Code == 200) || !delivered && rec.Code != 400 && rec.Code != 413 {
			t.Errorf("it is answered with %d %s and was delivered %d times", rec.Code, rec.Body, l.count())
		}
	})
}
