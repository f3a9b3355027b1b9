package server_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/server"
)

func TestAHostileBodyIsRefusedAndReachesNobody(t *testing.T) {
	nested := func(open, shut string, n int) string { return strings.Repeat(open, n) + strings.Repeat(shut, n) }
	with := func(field, value string) string {
		return strings.Replace(okProvision, `"later":`, `"`+field+`":`+value+`,"later":`, 1)
	}
	for name, c := range map[string]struct {
		body string
		code int
		why  string
	}{
		"cut short":                            {okProvision[:len(okProvision)-1], 400, "JSON object"},
		"cut in a character":                   {strings.Replace(okProvision, `"t"`, "\"\xe2\x82\"", 1), 400, "UTF-8"},
		"not UTF-8":                            {strings.Replace(okProvision, `"t"`, "\"\xff\"", 1), 400, "UTF-8"},
		"not UTF-8 where nobody looks":         {strings.Replace(okProvision, `"x":1`, "\"x\":\"\xff\"", 1), 400, "UTF-8"},
		"UTF-16":                               {"\xff\xfe{\x00}\x00", 400, "UTF-8"},
		"with a mark of its order":             {"\uFEFF" + okProvision, 400, "JSON object"},
		"half a character, escaped":            {strings.Replace(okProvision, `"t"`, `"\ud800"`, 1), 400, "tenant has characters"},
		"a NUL in a name":                      {strings.Replace(okProvision, `"t"`, `"a\u0000b"`, 1), 400, "tenant has characters"},
		"a line's end in a name":               {strings.Replace(okProvision, `"provider_uuid":"p"`, `"provider_uuid":"p\nq"`, 1), 400, "provider_uuid has characters"},
		"a control character in a SKU":         {strings.Replace(okProvision, `"sku":"s"`, `"sku":"s\u001b[31m"`, 1), 400, "SKU"},
		"a long name":                          {strings.Replace(okProvision, `"t"`, `"`+strings.Repeat("t", 257)+`"`, 1), 400, "longer than 256"},
		"objects in objects":                   {with("deep", nested(`{"a":`, "}", 100_000)), 400, "JSON object"},
		"lists in lists":                       {with("deep", nested("[", "]", 500_000)), 400, "JSON object"},
		"lists without an end":                 {strings.Repeat("[", 1<<20), 400, "JSON object"},
		"an integer beyond all":                {with("items", `[{"sku":"s","quantity":`+strings.Repeat("9", 100_000)+`}]`), 400, "JSON object"},
		"an exponent beyond all":               {with("items", `[{"sku":"s","quantity":1e400}]`), 400, "JSON object"},
		"an integer beyond 64 bits":            {with("items", `[{"sku":"s","quantity":18446744073709551617}]`), 400, "JSON object"},
		"a quantity of the largest integer":    {with("items", `[{"sku":"s","quantity":9223372036854775807}]`), 400, "quantity"},
		"quantities whose sum goes around":     {with("items", `[{"sku":"s","service_name":"a","quantity":9223372036854775807},{"sku":"s","service_name":"b","quantity":9223372036854775807}]`), 400, "quantity"},
		"a quantity below zero":                {with("items", `[{"sku":"s","quantity":-1}]`), 400, "quantity"},
		"half a container":                     {with("items", `[{"sku":"s","quantity":0.5}]`), 400, "JSON object"},
		"sixty thousand items":                 {with("items", "["+strings.Repeat("{},", 60_000)+"{}]"), 400, "items"},
		"a list as a lease":                    {strings.Replace(okProvision, `"`+lease1+`"`, `["`+lease1+`"]`, 1), 400, "JSON object"},
		"another lease behind the first":       {with("lease_uuid", `"x"`), 400, "lease_uuid"},
		"the same in capitals":                 {with("LEASE_UUID", `"x"`), 400, "lease_uuid"},
		"another URL behind the first":         {with("callback_url", `"http://169.254.169.254/"`), 400, "link-local"},
		"two documents":                        {okProvision + okProvision, 400, "JSON object"},
		"something behind it":                  {okProvision + "\x00", 400, "JSON object"},
		"a lease in braces":                    {strings.Replace(okProvision, lease1, "{"+lease1+"}", 1), 400, "lease_uuid"},
		"a lease that leads elsewhere":         {strings.Replace(okProvision, lease1, "../"+lease1[3:], 1), 400, "lease_uuid"},
		"a megabyte instead of a lease":        {strings.Replace(okProvision, lease1, strings.Repeat("a", 1<<20), 1), 400, "lease_uuid"},
		"base64 that breaks off":               {strings.Replace(okProvision, "aGVsbG8=", "aGVsbG8", 1), 400, "JSON object"},
		"more than two mebibytes":              {with("pad", `"`+strings.Repeat("x", 2<<20)+`"`), 413, "too large"},
		"more than two mebibytes of no matter": {okProvision + strings.Repeat(" ", 2<<20), 413, "too large"},
	} {
		b := &scripted{}
		began := time.Now()
		got := ask(t, unsigned(b), "POST", "/provision", c.body)
		e := got.refused(t)
		if got.code != c.code || !strings.Contains(e.Error, c.why) || len(e.Error) > 512 {
			t.Errorf("%s: answered with %d %+v, want %d and %q", name, got.code, e, c.code, c.why)
		}
		if b.last() != nil {
			t.Errorf("%s: it reached the backend", name)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: the answer took %v", name, took)
		}
	}
}

func TestAHostileQueryIsRefusedOrReadOneWay(t *testing.T) {
	many := "/provisions?lease_uuid=" + strings.Repeat(lease1+"&lease_uuid=", 100) + lease1
	for target, code := range map[string]int{
		many: 400,
		"/provisions?lease_uuid=" + lease1 + "&lease_uuid=x":           400,
		"/provisions?lease_uuid=":                                      400,
		"/provisions?lease_uuid=%00":                                   400,
		"/provisions?limit=99999999999999999999":                       400,
		"/provisions?limit=-1":                                         400,
		"/provisions?limit=1e3":                                        400,
		"/provisions?limit=0x10":                                       400,
		"/provisions?limit=":                                           400,
		"/provisions?limit=9223372036854775807":                        200, // as the largest page
		"/provisions?limit=1&continue=" + strings.Repeat("a", 100_000): 400,
		"/provisions?limit=1&continue=../../etc":                       400,
		"/provisions?continue=" + lease1:                               400,
		"/provisions?limit=1;continue=x":                               400, // a semicolon parts nothing
		"/provisions?limit=%zz":                                        400,
		"/retentions?limit=99999999999999999999":                       400,
		"/retentions?continue=" + lease1:                               400,
		"/logs/" + lease1 + "?tail=10001":                              400,
		"/logs/" + lease1 + "?tail=99999999999999999999":               400,
		"/logs/" + lease1 + "?tail=-1":                                 400,
		"/logs/" + lease1 + "?tail=%2B1%00":                            400,
		"/info/%2e%2e":                                                 404,
		"/info/..%2f..%2fetc":                                          404,
		"/info/" + lease1 + "%00":                                      400,
		"/info/" + lease1 + "%2fx":                                     400,
		"/provisions/" + strings.Repeat("a", 10_000):                   400,
		"/provisions/%7B" + lease1 + "%7D":                             400,
		"/info/%ff%fe":                                                 400,
		"//info/" + lease1:                                             404,
	} {
		b := three()
		if got := ask(t, unsigned(b), "GET", target, ""); got.code != code || (code != 200) != (b.last() == nil) || len(got.body) > 1024 {
			t.Errorf("%.80s is answered with %d %.200s, want %d", target, got.code, got.body, code)
		}
	}
}

// endless is a body that ends after a gibibyte, and counts what is taken of it.
type endless struct {
	text  string
	taken atomic.Int64
}

func (e *endless) Read(into []byte) (int, error) {
	if e.taken.Load() >= 1<<30 {
		return 0, io.EOF
	}
	n := 0
	for n < len(into) {
		n += copy(into[n:], e.text)
	}
	e.taken.Add(int64(n))
	return n, nil
}

func TestABodyOfAGibibyteIsNeverKept(t *testing.T) {
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]server.Config{"signed": {Auth: verifier}, "unsigned": {Unsigned: true}} {
		b := &scripted{}
		body := &endless{text: `[{"a":`}
		req := httptest.NewRequest("POST", "/provision", body)
		req.ContentLength = -1
		req.Header.Set(hmacauth.Header, hmacauth.Sign(secret, "POST", "/provision", nil, time.Now()))
		rec := httptest.NewRecorder()
		h := server.New(b, cfg)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h.ServeHTTP(rec, req)
		runtime.ReadMemStats(&after)
		const bound = 2 << 20
		if got := body.taken.Load(); rec.Code != 413 || got > 2*bound || b.last() != nil {
			t.Errorf("%s: answered with %d %s after %d bytes", name, rec.Code, rec.Body, got)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 16*bound {
			t.Errorf("%s: %d bytes of memory were asked for", name, got)
		}
	}
}

func TestEverySignatureIsForItsOwnRoute(t *testing.T) {
	now := time.Unix(1767225600, 0)
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, signed := range requests {
		header := hmacauth.Sign(secret, signed.method, signed.target, []byte(signed.body), now)
		for _, asked := range requests {
			if asked.open || asked.name == signed.name {
				continue
			}
			b := three()
			req := httptest.NewRequest(asked.method, asked.target, strings.NewReader(asked.body))
			req.Header.Set(hmacauth.Header, header)
			rec := httptest.NewRecorder()
			server.New(b, server.Config{Auth: verifier}).ServeHTTP(rec, req)
			if rec.Code != 401 || b.last() != nil {
				t.Errorf("%s with the signature of %s is answered with %d", asked.name, signed.name, rec.Code)
			}
		}
	}
}

func TestAnAnswerOfTheBackendThatIsHostileIsOneAnswer(t *testing.T) {
	evil := "\r\nX-Evil: 1\r\n\r\n<script>\x00\xff\u202e" + strings.Repeat("é", 5000)
	for _, err := range []error{fmt.Errorf("%w: %s", backend.ErrValidation, evil), fmt.Errorf("%w: %s", backend.ErrInvalidManifest, evil), fmt.Errorf("%w", &backendError{evil})} {
		got := ask(t, unsigned(&scripted{err: err}), "POST", "/provision", okProvision)
		e := got.refused(t)
		if len(e.Error) > 512 || strings.ContainsAny(e.Error, "\r\n\x00") || got.head.Get("X-Evil") != "" || got.code != 400 && got.code != 500 {
			t.Errorf("it is answered with %d %q", got.code, got.body)
		}
	}
}

type backendError struct{ text string }

func (e *backendError) Error() string { return e.text }
