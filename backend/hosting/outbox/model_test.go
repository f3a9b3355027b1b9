package outbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

// entry is a callback as the model has it.
type entry struct {
	word    string
	created time.Time
	gone    bool // acknowledged, given up or forgotten
	told    int  // deliveries
	lost    bool // a delivery whose answer did not arrive
}

// model is a lease, its holder and the network between them, with what is known of
// every callback that there was.
type model struct {
	t       *rapid.T
	clock   *clock
	holder  *holder
	store   *provider.MemoryStore
	o       *outbox.Outbox
	weather string
	all     []*entry
	since   int    // how many there were when the lease was forgotten last
	givenUp uint64 // since then
	signed  int64  // the latest second, and whose it is
	signer  *entry
	seen    map[string]int // how often what happened, over all runs
}

// RoundTrip is where it shows whether the rules were kept.
func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	var word string
	resp := reply(500, "")
	first := m.first()
	if m.weather != "kill before" && m.weather != "down" {
		var err error
		before := len(m.holder.words())
		if resp, err = m.holder.RoundTrip(r); err != nil || resp.StatusCode != 200 {
			m.t.Fatalf("the receiver refuses: %v %v", resp, err)
		}
		if words := m.holder.words(); len(words) > before {
			word = words[before]
			if first == nil || word != first.word {
				m.t.Fatalf("%s is delivered before %+v", word, first)
			}
			first.told++
		}
	} else if word = payloadOf(r).Error; first == nil || word != first.word {
		m.t.Fatalf("%s is sent before %+v", word, first)
	}
	m.checkSecond(r, first)
	m.seen[m.weather]++
	switch m.weather {
	case "kill before", "kill after":
		first.lost = first.lost || m.weather == "kill after"
		panic(errKilled)
	case "down":
		return nil, errors.New("unreachable")
	case "lost":
		first.lost = true
		return nil, errors.New("reset")
	case "refusing":
		first.lost = true
		return reply(403, ""), nil
	}
	first.gone = true
	return resp, nil
}

// first is the callback that may be sent.
func (m *model) first() *entry {
	for _, e := range m.all {
		if !e.gone {
			if m.clock.now().Sub(e.created) >= outbox.MaxAge {
				m.t.Fatalf("%s is old and was not given up", e.word)
			}
			return e
		}
	}
	return nil
}

func (m *model) checkSecond(r *http.Request, e *entry) {
	text, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get(hmacauth.Header), "t="), ",")
	second, err := strconv.ParseInt(text, 10, 64)
	if err != nil || second < m.signed || second == m.signed && m.signer != e {
		m.t.Fatalf("%s is signed at %s after %d of %+v", e.word, text, m.signed, m.signer)
	}
	m.signed, m.signer = second, e
}

func (m *model) add(t *rapid.T) {
	e := &entry{word: fmt.Sprint(len(m.all)), created: m.clock.now()}
	err := m.o.Add(t.Context(), lease, target, e.word, failedWith(e.word))
	if errors.Is(err, outbox.ErrFull) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.all = append(m.all, e)
}

// again repeats the Add of late, as one does who was killed: unless it was forgotten.
func (m *model) again(t *rapid.T) {
	if len(m.all) == m.since {
		return
	}
	e := m.all[len(m.all)-1]
	if err := m.o.Add(t.Context(), lease, target, e.word, failedWith(e.word)); err != nil {
		t.Fatal(err)
	}
}

func (m *model) step(t *rapid.T) (again time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			if p != any(errKilled) {
				panic(p)
			}
			m.o = m.outbox(t)
			again = time.Second
		}
	}()
	m.expire(t)
	again, err := m.o.Step(t.Context(), lease)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// expire does what a Step does first: what is too old goes, unless an attempt may
// still be under way.
func (m *model) expire(t *rapid.T) {
	if m.busy(t) {
		return
	}
	for _, e := range m.all {
		if e.gone {
			continue
		}
		if m.clock.now().Sub(e.created) < outbox.MaxAge {
			return
		}
		e.gone = true
		m.givenUp++
		m.seen["given up"]++
	}
}

// busy is whether a claim of one that was killed is live.
func (m *model) busy(t *rapid.T) bool {
	rec, err := m.store.Get(t.Context(), "backend/callbacks/"+lease)
	if errors.Is(err, provider.ErrNotFound) {
		return false
	}
	var of struct{ Claim struct{ Until time.Time } }
	if err = errors.Join(err, json.Unmarshal(rec.Value, &of)); err != nil {
		t.Fatal(err)
	}
	return of.Claim.Until.After(m.clock.now())
}

func (m *model) forget(t *rapid.T) {
	busy := m.busy(t)
	err := m.o.Forget(t.Context(), lease)
	if busy != errors.Is(err, outbox.ErrBusy) || !busy && err != nil {
		t.Fatalf("busy is %t and Forget %v", busy, err)
	}
	if busy {
		return
	}
	m.seen["forgotten"]++
	for _, e := range m.all {
		e.gone = true
	}
	m.since, m.givenUp = len(m.all), 0
}

func (m *model) outbox(t tb) *outbox.Outbox {
	return newOutbox(t, m.store, m.clock.now, m, nil)
}

func (m *model) check(t *rapid.T) {
	s, err := m.o.Look(t.Context(), lease)
	left := 0
	for _, e := range m.all {
		if !e.gone {
			left++
		}
		if !e.lost && e.told > 1 {
			t.Fatalf("%+v is delivered more than once, and no answer was lost", e)
		}
	}
	if err != nil || s.GivenUp != m.givenUp || s.Pending != left {
		t.Fatalf("there is %+v, %v: %d given up, %d left", s, err, m.givenUp, left)
	}
}

func TestCallbacksKeepTheRules(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		m := &model{t: t, clock: c, holder: newHolder(t, c.now), store: provider.NewMemoryStore(), weather: "fair", seen: seen}
		m.o = m.outbox(t)
		t.Repeat(map[string]func(*rapid.T){
			"add":     m.add,
			"again":   m.again,
			"step":    func(t *rapid.T) { c.move(min(m.step(t), 10*time.Minute)) },
			"forget":  m.forget,
			"restart": func(t *rapid.T) { m.o = m.outbox(t) },
			"wait": func(t *rapid.T) {
				c.move(rapid.SampledFrom([]time.Duration{1, time.Second, 20 * time.Second, 5 * time.Minute, 6 * time.Hour, 25 * time.Hour}).Draw(t, "wait"))
			},
			"weather": func(t *rapid.T) {
				m.weather = rapid.SampledFrom([]string{"fair", "down", "lost", "refusing", "kill before", "kill after"}).Draw(t, "weather")
			},
			"": m.check,
		})
		m.weather = "fair"
		for again := m.step(t); again > 0; again = m.step(t) {
			c.move(again)
		}
		m.check(t)
		for _, e := range m.all {
			if !e.gone {
				t.Fatalf("%+v is neither delivered nor given up", e)
			}
		}
	})
	t.Log(seen)
	if testing.Short() {
		return // a short run comes to each of them by chance alone
	}
	for _, what := range []string{"fair", "down", "lost", "refusing", "kill before", "kill after", "given up", "forgotten"} {
		if seen[what] == 0 {
			t.Errorf("it never came to %q", what)
		}
	}
}
