package callback_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/berth-cloud/berth/backend/callback"
	"github.com/berth-cloud/berth/backend/hmacauth"
)

func TestAHostileCallbackIsRefusedAndReachesNobody(t *testing.T) {
	with := func(field, value string) string { return strings.Replace(body, `"later":1`, `"`+field+`":`+value, 1) }
	for name, c := range map[string]struct {
		body string
		code int
	}{
		"cut short":               {body[:len(body)-1], 400},
		"two of them":             {body + body, 400},
		"something behind it":     {body + "\x00", 400},
		"a list of them":          {"[" + body + "]", 400},
		"null":                    {"null", 400},
		"a mark of its order":     {"\uFEFF" + body, 400},
		"UTF-16":                  {"\xff\xfe{\x00}\x00", 400},
		"lists in lists":          {with("deep", strings.Repeat("[", 10_100)+strings.Repeat("]", 10_100)), 400},
		"lists without an end":    {strings.Repeat("[", 60_000), 400},
		"a number as a lease":     {strings.Replace(body, `"`+lease+`"`, strings.Repeat("9", 5000), 1), 400},
		"another lease behind it": {with("lease_uuid", `"../../etc"`), 400},
		"the same in capitals":    {with("LEASE_UUID", `""`), 400},
		"another status":          {with("status", `"ready"`), 400},
		"a status of no string":   {with("status", `{"a":1}`), 400},
		"a truth beyond all":      {with("retained", "1e999"), 400},
		"a long backend":          {with("backend", `"`+strings.Repeat("é", 129)+`"`), 400},
		"not UTF-8 in its lease":  {strings.Replace(body, "018f", "\xff\xff\xff\xff", 1), 400},
		"more than the bound":     {with("pad", `"`+strings.Repeat("x", callback.MaxBodyBytes)+`"`), 413},
	} {
		l := &ledger{}
		rec := post(receiver(t, l, nil), c.body, signature(c.body))
		if rec.Code != c.code || l.count() != 0 || rec.Body.Len() > 512 {
			t.Errorf("%s is answered with %d %s, want %d; %d were delivered", name, rec.Code, rec.Body, c.code, l.count())
		}
	}
}

func TestTheWordsOfAHostileCallbackAreFitForATenant(t *testing.T) {
	l := &ledger{}
	text := `{"lease_uuid":"` + lease + `","status":"failed","error":"a\r\nb\u0000\u001b[31m` + "\xff\xc3" + `\ud800` + strings.Repeat(`\u00e9`, 2000) + `"}`
	if rec := post(receiver(t, l, nil), text, signature(text)); rec.Code != 200 || l.count() != 1 {
		t.Fatalf("it is answered with %d %s", rec.Code, rec.Body)
	}
	if got := l.got[0].Error; len([]rune(got)) != 256 || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\x00\x1b") || !strings.HasPrefix(got, "a  b[31m") {
		t.Errorf("the words are %q", got)
	}
}

func TestASignatureOfACallbackIsGoodForItAlone(t *testing.T) {
	l := &ledger{}
	r := receiver(t, l, nil)
	now := time.Now()
	for name, header := range map[string]string{
		"of another path":     hmacauth.Sign(secret, "POST", "/provision", []byte(body), now),
		"of a query":          hmacauth.Sign(secret, "POST", path+"?a=1", []byte(body), now),
		"of another method":   hmacauth.Sign(secret, "PUT", path, []byte(body), now),
		"of another body":     hmacauth.Sign(secret, "POST", path, []byte(strings.Replace(body, "success", "failed", 1)), now),
		"of another secret":   hmacauth.Sign(secret+"x", "POST", path, []byte(body), now),
		"of six minutes ago":  hmacauth.Sign(secret, "POST", path, []byte(body), now.Add(-6*time.Minute)),
		"of two minutes more": hmacauth.Sign(secret, "POST", path, []byte(body), now.Add(2*time.Minute)),
		"and two at once":     "",
	} {
		req := httptest.NewRequest("POST", path, strings.NewReader(body))
		req.Header.Set(hmacauth.Header, header)
		if header == "" {
			req.Header[hmacauth.Header] = []string{signature(body), signature(body)}
		}
		rec := httptest.NewRecorder()
		r.ServeHTTP(rec, req)
		if rec.Code != 401 || l.count() != 0 {
			t.Errorf("%s: answered with %d", name, rec.Code)
		}
	}
}

// A signature from the end of the skew is good for longest: all that time, and to the
// last moment of it, its callback is delivered once.
func TestAReplayIsNotDeliveredForAsLongAsItsSignatureIsGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{}
		v, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}})
		if err != nil {
			t.Fatal(err)
		}
		r := callback.NewReceiver(callback.Config{Auth: v, Deliver: l.deliver})
		header := hmacauth.Sign(secret, "POST", path, []byte(body), time.Now().Add(hmacauth.MaxSkew))
		good := 0
		for range 4 * 370 {
			// However it is written, it is the same signature.
			for _, h := range []string{header, strings.Replace(header, ",", " , ", 1), strings.Replace(header, "t=", "t=+", 1), header[:strings.Index(header, "sha256=")+7] + strings.ToUpper(header[strings.Index(header, "sha256=")+7:])} {
				if post(r, body, h).Code == 200 {
					good++
				}
			}
			<-time.After(250*time.Millisecond - 1)
		}
		if l.count() != 1 || good < 4*4*360 || good > 4*4*362 {
			t.Errorf("it was delivered %d times, and good %d times", l.count(), good)
		}
	})
}

// endless is a body that ends after a gibibyte, and counts what is taken of it.
type endless struct{ taken atomic.Int64 }

func (e *endless) Read(into []byte) (int, error) {
	if e.taken.Add(int64(len(into))) > 1<<30 {
		return 0, io.EOF
	}
	clear(into)
	return len(into), nil
}

func TestACallbackOfAGibibyteIsTakenToItsBound(t *testing.T) {
	l, e := &ledger{}, new(endless)
	req := httptest.NewRequest("POST", path, e)
	req.ContentLength = -1
	req.Header.Set(hmacauth.Header, signature(""))
	rec := httptest.NewRecorder()
	receiver(t, l, nil).ServeHTTP(rec, req)
	if got := e.taken.Load(); rec.Code != 413 || l.count() != 0 || got > 4*callback.MaxBodyBytes {
		t.Errorf("it is answered with %d after %d bytes", rec.Code, got)
	}
}

// What strangers send leaves nothing in the memory, so that it pushes out nothing.
func TestStrangersLeaveNothingInTheMemory(t *testing.T) {
	l := &ledger{}
	r := receiver(t, l, func(c *callback.Config) { c.Remember = 2 })
	first := signature(body)
	if rec := post(r, body, first); rec.Code != 200 {
		t.Fatal(rec.Code)
	}
	for range 1000 {
		post(r, body, hmacauth.Sign(strings.Repeat("x", 32), "POST", path, []byte(body), time.Now()))
	}
	if rec := post(r, body, first); rec.Code != 200 || l.count() != 1 {
		t.Errorf("the first again is answered with %d, and delivered %d times", rec.Code, l.count())
	}
}

func TestADeliveryThatNeverEndsEndsAndComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{on: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		r := receiver(t, l, nil)
		began := time.Now()
		header := signature(body)
		for n := range 2 {
			if rec := post(r, body, header); rec.Code != http.StatusInternalServerError || l.count() != n+1 {
				t.Errorf("it is answered with %d", rec.Code)
			}
		}
		if took := time.Since(began); took != 2*callback.DefaultTimeout {
			t.Errorf("two took %v", took)
		}
	})
}
