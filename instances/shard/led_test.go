package shard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/instances/storage"
)

func TestAGroupComesUpByItselfAndFollowsItsSize(t *testing.T) {
	s := newSite(t)
	s.say(web(3))
	sh, _ := s.lead("a", nil)
	first := s.settled(sh, 3)
	s.say(web(1))
	one := s.settled(sh, 1)
	if !slices.Contains(first, one[0]) {
		t.Errorf("%s stays of %v", one, first)
	}
	s.say(web(2))
	if two := s.settled(sh, 2); !slices.Contains(two, one[0]) {
		t.Errorf("%s went: %v", one, two)
	}
	s.say(``)
	s.settled(sh, 0)
	s.until("the group is forgotten", func() bool {
		all, err := sh.Groups(t.Context())
		return err == nil && len(all) == 0
	})
}

func TestAConfigurationThatCannotBeReadChangesNothing(t *testing.T) {
	s := newSite(t)
	s.say(web(2))
	sh, _ := s.lead("a", nil)
	before := s.settled(sh, 2)
	for _, text := range []string{`{`, `{}`, `{"groups": {}}`} {
		s.spoil(text)
		if err := sh.Reload(t.Context()); err == nil {
			t.Errorf("%s is taken", text)
		}
		s.looked(sh)
		if got := s.alive(); !slices.Equal(got, before) {
			t.Fatalf("%s: %v are there, not %v", text, got, before)
		}
		// Its groups are known as they were.
		all, err := sh.Groups(t.Context())
		if err != nil || len(all) != 1 || all[0].Size != 2 || all[0].Absent {
			t.Errorf("%+v, %v", all, err)
		}
	}
	s.say(web(1))
	s.settled(sh, 1)
}

// A leader that was killed lets nothing go: its successor waits, finds what there is, and
// goes on with the rotation that was under way, with one machine for one.
func TestANewLeaderRotatesAndMakesNothing(t *testing.T) {
	s := newSite(t)
	s.say(web(2))
	sh, kill := s.lead("a", nil)
	before := s.settled(sh, 2)
	kill()
	next, _ := s.lead("b", func(o *shard.Options) { o.CacheDir = t.TempDir() })
	s.until("all are back", func() bool { return slices.Equal(s.ready(next), before) })
	s.looked(next)
	if got := s.alive(); !slices.Equal(got, before) {
		t.Fatalf("%v are there, not %v", got, before)
	}
	ids, err := next.RotateGroup(t.Context(), "", "web", "somebody")
	if err != nil || !slices.Equal(slices.Sorted(slices.Values(ids)), before) {
		t.Fatalf("%v, %v", ids, err)
	}
	s.until("all were replaced", func() bool {
		now := s.ready(next)
		return len(now) == 2 && len(s.alive()) == 2 && !slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) })
	})
	if made := s.made(); made != 4 {
		t.Errorf("%d machines were made for 2 that were replaced by 2", made)
	}
}

// cuttable is a store to which a server can lose its way.
type cuttable struct {
	storage.Storage
	cut atomic.Bool
}

func (c *cuttable) PutIfMatch(ctx context.Context, key string, data []byte, tag string) (string, error) {
	if c.cut.Load() {
		return "", storage.ErrUnavailable
	}
	return c.Storage.PutIfMatch(ctx, key, data, tag)
}

// The only server that there can be does not wait for the one before it, which was killed.
func TestTheOnlyServerGoesOnAtOnce(t *testing.T) {
	for name, sole := range map[string]bool{"the only one": true, "one of several": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.timings = `"election": {"interval": "20s", "timeout": "1m"}`
			store := &cuttable{Storage: s.bucket}
			_, kill := s.lead("a", func(o *shard.Options) { o.Storage, o.Sole = store, sole })
			store.cut.Store(true) // it cannot let go of the lead any more
			kill()
			sh, _ := s.serveWith(s.open, func(o *shard.Options) { o.ServerID, o.Sole = "b", sole })
			if sole {
				s.until("it leads", func() bool { l, _ := sh.Leader(); return l.Self })
				return
			}
			s.until("it has seen who led", func() bool { l, _ := sh.Leader(); return l.Holder == "a" })
			if l, _ := sh.Leader(); l.Self {
				t.Error("it leads beside another one")
			}
		})
	}
}

// A machine that is connected is there, however rarely agents report and however often
// the configuration wants them to by now.
func TestAShorterIntervalReplacesNobody(t *testing.T) {
	s := newSite(t)
	s.beat = time.Second
	s.say(web(2))
	sh, _ := s.lead("a", func(o *shard.Options) { o.Timing = hub.Timing{Heartbeat: 2 * time.Second} })
	before := s.settled(sh, 2)
	s.retime(`"timings": {"health_check_interval": "100ms", "retry_min": "50ms", "retry_max": "1s"}, "election": {"interval": "200ms", "timeout": "1s"}`)
	mustBe(t, sh.Reload(t.Context()))
	for range 8 {
		s.looked(sh)
	}
	if got := s.alive(); !slices.Equal(got, before) || s.made() != 2 {
		t.Errorf("%v are there, not %v, and %d were made", got, before, s.made())
	}
}

// A machine that is not heard of any more is replaced, and goes when the other is there.
func TestAMachineWhoseAgentEndsIsReplaced(t *testing.T) {
	s := newSite(t)
	s.say(web(2))
	sh, _ := s.lead("a", nil)
	before := s.settled(sh, 2)
	s.silence(before[0])
	s.until("it is silent", func() bool {
		m, err := sh.Machine(t.Context(), before[0])
		return err == nil && m.Status == shard.StatusSilent && m.Reason == "its agent is not connected"
	})
	s.until("another one is there in its place", func() bool {
		now := s.ready(sh)
		return len(now) == 2 && len(s.alive()) == 2 && slices.Contains(now, before[1])
	})
	if s.made() != 3 {
		t.Errorf("%d machines were made", s.made())
	}
}

func TestAHistoryHasBounds(t *testing.T) {
	var h shard.History
	at := time.Unix(0, 0)
	for i := range shard.MaxEvents + 5 {
		h.Note("a", shard.Event{At: at.Add(time.Duration(i) * time.Second), Kind: fmt.Sprint(i)})
	}
	all := h.Events("a")
	if len(all) != shard.MaxEvents || all[0].Kind != "5" {
		t.Errorf("%d events, the first is %s", len(all), all[0].Kind)
	}
	for range 3 {
		h.Note("b", shard.Event{At: at, Kind: "lost"})
	}
	if all := h.Events("b"); len(all) != 1 || all[0].Times != 3 {
		t.Errorf("%+v", all)
	}
	for i := range shard.MaxHistories {
		h.Note(fmt.Sprint("m", i), shard.Event{At: at.Add(time.Hour), Kind: "made"})
	}
	if len(h.Events("b")) > 0 || len(h.Events("m7")) == 0 {
		t.Error("the oldest is not what went")
	}
}

// A token is in the user data of its machine, and in nothing that anybody is shown.
func TestNothingThatIsShownHasAToken(t *testing.T) {
	s := newSite(t)
	s.say(web(2))
	sh, _ := s.lead("a", nil)
	var shown []any
	for _, id := range s.settled(sh, 2) {
		d, err := sh.Machine(t.Context(), id)
		mustBe(t, err)
		shown = append(shown, d)
	}
	all, err := sh.Machines(t.Context(), true)
	mustBe(t, err)
	groups, err := sh.Groups(t.Context())
	mustBe(t, err)
	text, err := json.Marshal(append(shown, all, groups, s.log.String()))
	mustBe(t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tokens) != 2 || !strings.HasPrefix(s.tokens[0], "ey") {
		t.Fatalf("%d tokens", len(s.tokens))
	}
	for _, token := range s.tokens {
		if _, signature, _ := strings.Cut(token[strings.Index(token, ".")+1:], "."); strings.Contains(string(text), signature) {
			t.Error("a token is shown")
		}
	}
}
