package outbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

func TestACallbackIsStoredBeforeItIsSent(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	stored := -1
	o := newOutbox(t, store, c.now, wire(func(*http.Request) (*http.Response, error) {
		o := newOutbox(t, store, c.now, nil, nil)
		s, err := o.Look(t.Context(), lease)
		if err != nil || s.Attempts != 1 {
			t.Errorf("while it is sent the row has %d attempts: %v", s.Attempts, err)
		}
		stored = s.Pending
		return reply(200, ""), nil
	}), nil)
	add(t, o, "a")
	if stored != -1 {
		t.Error("Add sends")
	}
	if again := step(t, o); again != 0 || stored != 1 {
		t.Errorf("%d rows while it is sent, and again in %s", stored, again)
	}
	if s, err := o.Look(t.Context(), lease); err != nil || s != (outbox.State{}) {
		t.Errorf("once it is acknowledged there is %+v, %v", s, err)
	}
}

func TestAnOperationHasOneCallback(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	h := newHolder(t, c.now)
	var log bytes.Buffer
	o := newOutbox(t, store, c.now, h, func(cfg *outbox.Config) { cfg.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	add(t, o, "a")
	add(t, o, "a")
	if strings.Contains(log.String(), "two callbacks") {
		t.Errorf("the same twice is logged: %s", &log)
	}
	if err := o.Add(t.Context(), strings.ToUpper(lease), target, "a", failedWith("other words")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "the first stands") {
		t.Errorf("another under the same name is not logged: %s", &log)
	}
	step(t, o)
	add(t, o, "a")
	if again := step(t, o); again != 0 || !slices.Equal(h.words(), []string{"a"}) {
		t.Errorf("delivered is %q", h.words())
	}
}

func TestTheLatestOperationsAreRemembered(t *testing.T) {
	c := newClock()
	h := newHolder(t, c.now)
	o := newOutbox(t, provider.NewMemoryStore(), c.now, h, nil)
	for n := range outbox.MaxRemembered + 1 {
		add(t, o, fmt.Sprint(n))
		step(t, o)
		c.move(time.Second)
	}
	add(t, o, "1") // the oldest that is remembered
	step(t, o)
	if got := len(h.words()); got != outbox.MaxRemembered+1 {
		t.Errorf("%d are delivered", got)
	}
	add(t, o, "0")
	step(t, o)
	if got := len(h.words()); got != outbox.MaxRemembered+2 {
		t.Errorf("with one that is forgotten %d are delivered", got)
	}
}

func TestWhatNoReceiverTakesIsRefused(t *testing.T) {
	good := failedWith("x")
	with := func(change func(*backend.CallbackPayload)) backend.CallbackPayload {
		p := good
		change(&p)
		return p
	}
	for _, tt := range []struct {
		name, lease, url, operation string
		payload                     backend.CallbackPayload
		ok                          bool
	}{
		{"all is well", lease, target, "provision-1", good, true},
		{"the lease in it in capitals", lease, target, "p", with(func(p *backend.CallbackPayload) { p.LeaseUUID = strings.ToUpper(lease) }), true},
		{"no lease", "", target, "p", good, false},
		{"a lease in braces", "{" + lease + "}", target, "p", good, false},
		{"a lease that is a path", "../../../../../../../../../../../../../", target, "p", good, false},
		{"about another lease", lease, target, "p", with(func(p *backend.CallbackPayload) { p.LeaseUUID = "118f3c1e-7b2a-7c4d-9e5f-0123456789ab" }), false},
		{"no status", lease, target, "p", with(func(p *backend.CallbackPayload) { p.Status = "" }), false},
		{"another status", lease, target, "p", with(func(p *backend.CallbackPayload) { p.Status = "ready" }), false},
		{"a name too long", lease, target, "p", with(func(p *backend.CallbackPayload) { p.Backend = strings.Repeat("b", 257) }), false},
		{"no operation", lease, target, "", good, false},
		{"an operation too long", lease, target, strings.Repeat("o", 129), good, false},
		{"an operation with a space", lease, target, "a b", good, false},
		{"a URL of another kind", lease, "ftp://holder.example/", "p", good, false},
		{"a URL without a host", lease, "https:///x", "p", good, false},
		{"a URL with a user", lease, "https://u:hush@holder.example/", "p", good, false},
		{"a URL that cannot be read", lease, "https://holder.example/%zz?hush", "p", good, false},
		{"a URL too long", lease, target + strings.Repeat("x", 2048), "p", good, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := provider.NewMemoryStore()
			o := newOutbox(t, store, newClock().now, nil, nil)
			err := o.Add(t.Context(), tt.lease, tt.url, tt.operation, tt.payload)
			keys, _ := store.List(t.Context(), "")
			if tt.ok != (err == nil) || !tt.ok && !errors.Is(err, outbox.ErrInvalid) || (len(keys) == 1) != tt.ok {
				t.Fatalf("Add is %v, and stored is %q", err, keys)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("the error has the URL: %v", err)
			}
		})
	}
}

func TestALeaseWithoutAURLIsCounted(t *testing.T) {
	store := provider.NewMemoryStore()
	var log bytes.Buffer
	m := outbox.Metrics{NoTarget: prometheus.NewCounter(prometheus.CounterOpts{Name: "x"})}
	o := newOutbox(t, store, newClock().now, nil, func(cfg *outbox.Config) {
		cfg.Metrics, cfg.Logger = m, slog.New(slog.NewTextHandler(&log, nil))
	})
	if err := o.Add(t.Context(), lease, "", "p", failedWith("x")); err != nil {
		t.Fatal(err)
	}
	keys, _ := store.List(t.Context(), "")
	if value(t, m.NoTarget) != 1 || len(keys) != 0 || !strings.Contains(log.String(), lease) {
		t.Errorf("counted %v, stored %q, logged %s", value(t, m.NoTarget), keys, &log)
	}
}

func TestWaitingCallbacksAreBounded(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	h := newHolder(t, c.now)
	o := newOutbox(t, store, c.now, h, nil)
	for n := range outbox.MaxPending {
		add(t, o, fmt.Sprint(n))
	}
	err := o.Add(t.Context(), lease, target, "more", failedWith("more"))
	if !errors.Is(err, outbox.ErrFull) {
		t.Errorf("one too many is %v", err)
	}
	add(t, o, "0") // this one waits already
	for again := step(t, o); again > 0; again = step(t, o) {
		c.move(again)
	}
	if got := h.words(); len(got) != outbox.MaxPending || got[len(got)-1] != fmt.Sprint(outbox.MaxPending-1) {
		t.Errorf("delivered are %q", got)
	}
	add(t, o, "more")
}

func TestTheLargestRecordFits(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	o := newOutbox(t, store, c.now, nil, nil)
	url := "https://holder.example/?" + strings.Repeat("&", outbox.MaxURL-24) // written as \u0026
	var sizes []int
	for n := range 2 {
		p := failedWith(strings.Repeat("<", 1000))
		p.Backend = strings.Repeat("<", 256)
		if err := o.Add(t.Context(), lease, url, fmt.Sprintf("%0128d", n), p); err != nil {
			t.Fatal(err)
		}
		rec, err := store.Get(t.Context(), "backend/callbacks/"+lease)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(rec.Value))
	}
	const perAttempt, perOver = 300, outbox.MaxOperation + 3
	most := (sizes[1]-sizes[0]+perAttempt)*outbox.MaxPending + perOver*outbox.MaxRemembered
	if most > provider.MaxRecordSize {
		t.Errorf("it has %d bytes", most)
	}
	t.Logf("%d bytes at most", most)
}

func TestWordsAreOneBoundedLine(t *testing.T) {
	for in, want := range map[string]string{
		"image pull failed":                     "image pull failed",
		"a\nb\tc\r\x00d\u0085e\x7f":             "a b c de",
		strings.Repeat("é", 300):                strings.Repeat("é", 256),
		strings.Repeat("x", 255) + "€€":         strings.Repeat("x", 255) + "€",
		"\xff\xfe" + strings.Repeat("a", 2):     "\ufffdaa",
		strings.Repeat("\x01", 300) + "the end": "the end",
	} {
		if got := sentWords(t, in); got != want {
			t.Errorf("%q is sent as %q, want %q", in, got, want)
		}
	}
}

func sentWords(t *testing.T, words string) string {
	t.Helper()
	var got string
	o := newOutbox(t, provider.NewMemoryStore(), newClock().now, wire(func(r *http.Request) (*http.Response, error) {
		p := payloadOf(r)
		if p.LeaseUUID != lease || p.Status != backend.CallbackStatusFailed || p.Backend != "docker-1" {
			t.Errorf("sent is %+v", p)
		}
		got = p.Error
		return reply(204, ""), nil
	}), nil)
	if err := o.Add(t.Context(), lease, target, "p", failedWith(words)); err != nil {
		t.Fatal(err)
	}
	step(t, o)
	return got
}

func FuzzWordsAreOneBoundedLine(f *testing.F) {
	f.Add("a\nb")
	f.Add("\xff\u202e")
	f.Fuzz(func(t *testing.T, words string) {
		got := sentWords(t, words)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > backend.MaxCallbackError || strings.IndexFunc(got, unicode.IsControl) >= 0 {
			t.Errorf("%q is sent as %q", words, got)
		}
	})
}

func FuzzARecordOfAnyFormIsLeftOrKept(f *testing.F) {
	f.Add([]byte(`{"version":1,"rows":[{"seq":1,"operation":"a","url":"http://h/","body":"{}"}],"claims":1}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`nul`))
	f.Fuzz(func(t *testing.T, value []byte) {
		store, c := provider.NewMemoryStore(), newClock()
		key := "backend/callbacks/" + lease
		if _, err := store.Put(t.Context(), key, value, ""); err != nil {
			t.Fatal(err)
		}
		o := newOutbox(t, store, c.now, wire(func(*http.Request) (*http.Response, error) { return reply(500, ""), nil }), nil)
		_, err := o.Step(t.Context(), lease)
		rec, gone := store.Get(t.Context(), key)
		if gone != nil || err != nil && !bytes.Equal(rec.Value, value) || err == nil && !json.Valid(rec.Value) {
			t.Errorf("after %v there is %q, %v", err, rec.Value, gone)
		}
	})
}

func TestAConfigThatLacksSomethingIsAnError(t *testing.T) {
	_, err := outbox.New(outbox.Config{Prefix: "a/"})
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, want := range []string{"store", "key", "HTTP client", "prefix"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell of the %s", err, want)
		}
	}
}
