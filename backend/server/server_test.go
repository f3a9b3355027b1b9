package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// requests are one that is well formed for each route but /metrics.
var requests = []struct {
	name, method, target, body string
	open                       bool
}{
	{"provision", "POST", "/provision", okProvision, false},
	{"deprovision", "POST", "/deprovision", okGone, false},
	{"restart", "POST", "/restart", okRestart, false},
	{"update", "POST", "/update", okUpdate, false},
	{"restore", "POST", "/restore", okRestore, false},
	{"domain", "POST", "/reconcile_custom_domain", okDomain, false},
	{"info", "GET", "/info/" + lease1, "", false},
	{"get", "GET", "/provisions/" + lease1, "", false},
	{"list", "GET", "/provisions", "", false},
	{"lookup", "GET", "/provisions?lease_uuid=" + lease1, "", false},
	{"logs", "GET", "/logs/" + lease1, "", false},
	{"releases", "GET", "/releases/" + lease1, "", false},
	{"retentions", "GET", "/retentions", "", false},
	{"health", "GET", "/health", "", true},
	{"stats", "GET", "/stats", "", true},
}

func TestEveryRouteGivesTheAnswersOfItsOwnErrors(t *testing.T) {
	changing := "provision deprovision restart update restore domain"
	for _, kind := range []struct {
		err  error
		code int
		on   string // names of routes; on all others it is a 500
		also string // in the body
	}{
		{backend.ErrValidation, 400, "provision restart update restore domain", `{"error":"validation error"}`},
		{backend.ErrUnknownSKU, 400, "provision restart update restore domain", `"validation_code":"unknown_sku"`},
		{backend.ErrInvalidManifest, 400, "provision restart update restore domain", `"validation_code":"invalid_manifest"`},
		{backend.ErrImageNotAllowed, 400, "provision restart update restore domain", `"validation_code":"image_not_allowed"`},
		{backend.ErrNotProvisioned, 404, "restart update domain info get logs releases", "lease not provisioned"},
		{backend.ErrAlreadyProvisioned, 409, "provision restore", `"code":"already_provisioned"`},
		{backend.ErrInvalidState, 409, "restart update restore domain", `{"error":"invalid state for operation"}`},
		{backend.ErrNotRetained, 422, "restore", `{"error":"no retained data for lease"}`},
		{backend.ErrDemoteDataExceedsTier, 422, "restore", `"code":"demote_exceeds_tier"`},
		{backend.ErrRestoreRefused, 422, "restore", `"code":"restore_refused"`},
		{backend.ErrInsufficientResources, 503, "provision restore", "insufficient resources"},
		{backend.ErrCircuitOpen, 500, "", ""},
		{backend.ErrMalformedErrorBody, 500, "", ""},
		{context.DeadlineExceeded, 500, "", ""},
		{errors.New("open /var/lib/secret: no such file"), 500, "", ""},
	} {
		for _, r := range requests {
			if r.name == "health" {
				continue
			}
			want, also := 500, `{"error":"internal error"}`
			if strings.Contains(" "+kind.on+" ", " "+r.name+" ") {
				want, also = kind.code, kind.also
			}
			b := three()
			b.err = kind.err
			if strings.Contains(changing, r.name) {
				b.err = fmt.Errorf("%w", kind.err)
			}
			if got := ask(t, unsigned(b), r.method, r.target, r.body); got.code != want || !strings.Contains(got.body, also) {
				t.Errorf("%s with %v is answered with %d %s, want %d with %s", r.name, kind.err, got.code, got.body, want, also)
			}
		}
	}
}

func TestTheWordsOfARefusalAreOneBoundedLine(t *testing.T) {
	b := &scripted{err: fmt.Errorf("%w: line\none\x00\x1b[31m%s", backend.ErrValidation, strings.Repeat("é", 1000))}
	e := ask(t, unsigned(b), "POST", "/provision", okProvision).refused(t)
	if !strings.HasPrefix(e.Error, "validation error: line one[31mé") || len(e.Error) > 512 || !strings.HasSuffix(e.Error, "é") {
		t.Errorf("they are %q", e.Error)
	}
}

func TestWordsOfTheInsideStayThereAndInTheLog(t *testing.T) {
	var log bytes.Buffer
	b := &scripted{err: fmt.Errorf("%w: read /var/lib/secret", backend.ErrNotProvisioned)}
	h := server.New(b, server.Config{Unsigned: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if got := ask(t, h, "GET", "/info/"+lease1, ""); got.body != `{"error":"lease not provisioned"}` {
		t.Errorf("the answer is %s", got.body)
	}
	b.err = errors.New("read /var/lib/secret")
	if got := ask(t, h, "GET", "/info/"+lease1, ""); got.body != `{"error":"internal error"}` || !strings.Contains(log.String(), "/var/lib/secret") {
		t.Errorf("the answer is %s, the log %s", got.body, log.String())
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	var log bytes.Buffer
	h := server.New(&scripted{panics: true}, server.Config{Unsigned: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, r := range requests {
		if got := ask(t, h, r.method, r.target, r.body); got.code != 500 || got.body != `{"error":"internal error"}` {
			t.Errorf("%s is answered with %d %s", r.name, got.code, got.body)
		}
	}
	if !strings.Contains(log.String(), "the secret inside") {
		t.Errorf("the log is %s", log.String())
	}
}

func TestOtherMethodsAndPathsAreNotThere(t *testing.T) {
	h := unsigned(three())
	for _, r := range requests {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
			if method == r.method || method == "HEAD" && r.method == "GET" {
				continue
			}
			got := ask(t, h, method, r.target, r.body)
			if got.code != 405 || !strings.HasPrefix(got.head.Get("Allow"), r.method) {
				t.Errorf("%s %s is answered with %d, allowing %q", method, r.target, got.code, got.head.Get("Allow"))
			}
		}
	}
	for _, path := range []string{"/", "/x", "/info", "/info/", "/info/" + lease1 + "/x", "/provision/", "//provision", "/./provision", "/x/../provision", "/metrics"} {
		if got := ask(t, h, "POST", path, okProvision); got.code != 404 {
			t.Errorf("%s is answered with %d %s", path, got.code, got.body)
		}
	}
}

func TestAHeadHasTheHeaderOfItsGet(t *testing.T) {
	srv := httptest.NewServer(unsigned(three()))
	defer srv.Close()
	client := srv.Client()
	defer client.CloseIdleConnections()
	for _, r := range requests {
		if r.method != "GET" {
			continue
		}
		var lengths [2]int64
		for i, method := range []string{"GET", "HEAD"} {
			req, _ := http.NewRequest(method, srv.URL+r.target, nil)
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			lengths[i] = res.ContentLength
			if res.StatusCode != 200 || method == "HEAD" && len(body) > 0 {
				t.Errorf("%s %s is answered with %d and %d bytes", method, r.target, res.StatusCode, len(body))
			}
		}
		if lengths[0] != lengths[1] || lengths[0] <= 0 {
			t.Errorf("%s is %d bytes long by GET and %d by HEAD", r.target, lengths[0], lengths[1])
		}
	}
}

func TestWithoutASecretOnlyOpenRoutesAnswer(t *testing.T) {
	b := three()
	h := server.New(b, server.Config{})
	for _, r := range requests {
		got := ask(t, h, r.method, r.target, r.body)
		if want := map[bool]int{true: 200, false: 401}[r.open]; got.code != want {
			t.Errorf("%s is answered with %d, want %d", r.name, got.code, want)
		}
		if !r.open && b.last() != nil {
			t.Fatalf("%s reached the backend", r.name)
		}
	}
}

func TestHealthIsWhatTheBackendSays(t *testing.T) {
	if got := ask(t, unsigned(&scripted{}), "GET", "/health", ""); got.code != 200 || got.body != `{"status":"healthy"}` {
		t.Errorf("it is %d %s", got.code, got.body)
	}
	noted := server.New(&scripted{}, server.Config{Notes: []string{"disk is not enforced"}})
	if got := ask(t, noted, "GET", "/health", ""); got.body != `{"status":"healthy","notes":["disk is not enforced"]}` {
		t.Errorf("it is %d %s", got.code, got.body)
	}
	got := ask(t, unsigned(&scripted{err: errors.New("dial unix /run/engine.sock")}), "GET", "/health", "")
	if e := got.refused(t); got.code != 503 || strings.Contains(e.Error, "engine.sock") {
		t.Errorf("it is %d %s", got.code, got.body)
	}
}

func TestACallOfTheBackendEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		h := server.New(&scripted{waits: true}, server.Config{Unsigned: true, Timeout: 7 * time.Second})
		for _, r := range requests {
			if got := ask(t, h, r.method, r.target, r.body); got.code < 500 {
				t.Errorf("%s is answered with %d %s", r.name, got.code, got.body)
			}
		}
		if took := time.Since(began); took != time.Duration(len(requests))*7*time.Second {
			t.Errorf("%d calls took %s", len(requests), took)
		}
	})
}

func TestMetricsAreThereWhenGiven(t *testing.T) {
	total := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, []string{"operation", "code"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "request_seconds"}, []string{"operation"})
	shown := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `"metrics"`)
	})
	h := server.New(&scripted{}, server.Config{Unsigned: true, Metrics: shown, RequestsTotal: total, RequestDuration: took})
	if got := ask(t, h, "GET", "/metrics", ""); got.code != 200 || got.body != `"metrics"` {
		t.Errorf("/metrics is answered with %d %s", got.code, got.body)
	}
	ask(t, h, "GET", "/health", "")
	ask(t, h, "POST", "/deprovision", "{}")
	ask(t, h, "GET", "/nowhere/"+lease1, "")
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(total, took)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]int{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			counted[key] += int(m.GetCounter().GetValue()) + int(m.GetHistogram().GetSampleCount())
		}
	}
	want := map[string]int{
		"requests_total 200 health": 1, "requests_total 400 deprovision": 1, "requests_total 404 none": 1, "requests_total 200 metrics": 1,
		"request_seconds health": 1, "request_seconds deprovision": 1, "request_seconds none": 1, "request_seconds metrics": 1,
	}
	if !maps.Equal(counted, want) {
		t.Errorf("counted are %v, want %v", counted, want)
	}
}
