package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/reconcile/placement"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite/sqlitetest"
)

// world is a store, a fleet that is made up, and what was asked of the others.
type world struct {
	testing.TB
	*Nodes
	store   store.Store
	now     time.Time
	members map[string]fleet.Member
	holds   map[string][]docker.ContainerState
	volumes map[string][]docker.Volume
	away    error // of holds
	left    bool  // something, by a sweep
	swept   []string
	removed []string
	moved   []string
	woken   map[string]int
	back    []string
}

func newWorld(t *testing.T, ids ...string) *world {
	w := &world{
		TB: t, store: sqlitetest.Open(t), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), members: map[string]fleet.Member{},
		holds: map[string][]docker.ContainerState{}, volumes: map[string][]docker.Volume{}, woken: map[string]int{},
	}
	for _, id := range ids {
		w.members[id] = fleet.Member{ID: id, Online: true, Since: w.now.Add(-time.Hour)}
	}
	w.Nodes = New(Options{
		Store: w.store, Fleet: w, Now: func() time.Time { return w.now },
		Move: func(_ context.Context, app string) error {
			w.moved = append(w.moved, app)
			for _, d := range w.services(app) {
				w.put(d)
			}
			return nil
		},
		Wake: func(names ...string) {
			for _, name := range names {
				w.woken[name]++
			}
		},
		Back: func(id string) { w.back = append(w.back, id) },
	})
	return w
}

func (w *world) Members() []fleet.Member {
	var out []fleet.Member
	for _, m := range w.members {
		out = append(out, m)
	}
	return out
}

func (w *world) Holds(_ context.Context, id string) ([]docker.ContainerState, []docker.Volume, error) {
	return w.holds[id], w.volumes[id], w.away
}

func (w *world) Sweep(ctx context.Context, id string, o fleet.Sweeping) (out fleet.Swept, err error) {
	w.swept = append(w.swept, id)
	if w.left {
		out.Waiting = []string{"container shop-web-1: node b is offline"}
	}
	for i := range w.holds[id] {
		name := w.holds[id][i].Labels[docker.LabelService]
		if ok, err := o.Desired(ctx, name); name != "" && err == nil && !ok {
			out.Removed = append(out.Removed, name)
		}
	}
	w.removed = append(w.removed, out.Removed...)
	return out, nil
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) services(app string) []store.DesiredService {
	w.Helper()
	all, err := w.store.ListDesiredServices(w.Context(), app)
	w.must(err)
	return all
}

func (w *world) put(ds ...store.DesiredService) {
	w.Helper()
	actions := map[string]string{}
	for _, d := range ds {
		actions[d.Name] = "update"
	}
	_, err := w.store.ApplyChange(w.Context(), store.Change{AppID: ds[0].AppID, Kind: store.AttemptApply, Now: w.now, Put: ds, Actions: actions})
	w.must(err)
}

// app applies an app of one service, web.
func (w *world) app(name string, replicas int, change func(*spec.Service)) {
	w.Helper()
	s := spec.Service{Name: "web", Image: "web:1", Replicas: replicas}
	if change != nil {
		change(&s)
	}
	w.put(store.DesiredService{Name: name + "-web", AppID: name, Image: s.Image, Spec: s, Replicas: replicas})
}

// settled has the change of an app come up.
func (w *world) settled(app string) {
	w.Helper()
	d := w.services(app)[0]
	w.must(w.store.UpdateAttemptService(w.Context(), store.AttemptService{AttemptID: d.AttemptID, Service: d.Name, State: store.AttemptSucceeded}))
}

func spread(s *spec.Service)  { s.Placement.Spread = true }
func volumed(s *spec.Service) { s.Volumes = []spec.Volume{{Name: "data", Path: "/data"}} }
func keep(s *spec.Service)    { s.Placement.Keep = true }

func (w *world) located(app string) (Location, error) {
	w.Helper()
	return w.Locate(w.Context(), &w.services(app)[0])
}

// at is where an app is placed, in one text.
func (w *world) at(app string) string {
	w.Helper()
	l, err := w.located(app)
	if err != nil {
		return err.Error()
	}
	return strings.Join(l.Placement.Nodes, " ")
}

func (w *world) set(id string, change func(*fleet.Member)) {
	m := w.members[id]
	m.ID = id
	change(&m)
	w.members[id] = m
}

func (w *world) offline(id string) {
	w.set(id, func(m *fleet.Member) { m.Online, m.Since = false, w.now })
	w.pass(id)
}

// pass looks at a node once.
func (w *world) pass(id string) reconcile.Result {
	w.Helper()
	c, err := w.Controller(w.Context(), id)
	w.must(err)
	if c == nil {
		return reconcile.Result{}
	}
	res, err := c.Reconcile(w.Context())
	w.must(err)
	return res
}

func (w *world) reason(id string) string {
	w.Helper()
	res := w.pass(id)
	if len(res.Conditions) == 0 {
		return ""
	}
	return res.Conditions[0].Reason
}

func TestWithoutOtherNodesNothingIsDecided(t *testing.T) {
	w := newWorld(t)
	w.app("shop", 2, nil)
	if l, err := w.located("shop"); err != nil || l.Remote || fmt.Sprint(l.Placement.Nodes) != "[]" {
		t.Errorf("%+v, %v", l, err)
	}
	if all, err := w.store.ListPlacements(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("rows %v, %v", all, err)
	}
}

func TestWhatServesAlreadyStaysOnThisMachineWhenNodesJoin(t *testing.T) {
	w := newWorld(t)
	w.app("shop", 2, nil)
	_, err := w.store.SetActiveRelease(t.Context(), store.ActiveRelease{Service: "shop-web", AppID: "shop", ReleaseID: "shop-web-v1"})
	w.must(err)
	w.members["a"] = fleet.Member{ID: "a", Online: true}
	if at := w.at("shop"); at != "" {
		t.Errorf("placed on %q", at)
	}
}

func TestAppsGoToTheLeastLoadedNode(t *testing.T) {
	w := newWorld(t, "a", "b")
	for i, want := range []string{"", "a", "b", ""} {
		name := fmt.Sprintf("app%d", i)
		w.app(name, 2, nil)
		if at := w.at(name); at != want {
			t.Errorf("%s is on %q, want %q", name, at, want)
		}
	}
}

func TestReplicasAreSpreadOverNodesWithALabel(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	for _, id := range []string{"a", "b", "c"} {
		w.set(id, func(m *fleet.Member) { m.Labels = map[string]string{"group": "web"} })
	}
	w.app("shop", 6, func(s *spec.Service) { spread(s); s.Placement.Labels = map[string]string{"group": "web"} })
	if at := w.at("shop"); at != "a b c a b c" {
		t.Errorf("on %q", at)
	}
}

func TestAnAppThatNoNodeFitsSaysWhyForEach(t *testing.T) {
	w := newWorld(t, "a")
	w.app("shop", 1, func(s *spec.Service) { s.Placement.Node = "b" })
	_, err := w.located("shop")
	if !errors.Is(err, placement.ErrNoNode) || !strings.Contains(NoNode(err), "local: the app asks for b; a: the app asks for b") {
		t.Errorf("got %v", err)
	}
}

func TestAReplicaOfAnOfflineNodeIsMovedOnlyAfterItsTime(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*spec.Service)
		after  time.Duration
		at     string
	}{
		"before":          {nil, 4 * time.Minute, "a"},
		"after":           {nil, 5 * time.Minute, ""},
		"earlier, asked":  {func(s *spec.Service) { s.Placement.MoveAfter = time.Minute }, time.Minute, ""},
		"never, asked":    {keep, 24 * time.Hour, "a"},
		"never, volumes":  {volumed, 24 * time.Hour, "a"},
		"spread, after":   {spread, 6 * time.Minute, ""},
		"spread, not yet": {spread, time.Minute, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a")
			w.app("busy", 9, nil) // keeps the app off this machine
			w.at("busy")
			w.app("shop", 1, tc.change)
			if at := w.at("shop"); at != "a" {
				t.Fatalf("placed on %q", at)
			}
			w.settled("shop")
			w.offline("a")
			w.now = w.now.Add(tc.after)
			res := w.pass("a")
			if at := w.at("shop"); at != tc.at {
				t.Errorf("on %q, want %q", at, tc.at)
			}
			if tc.at == "" && w.woken["shop-web"] == 0 {
				t.Error("its service is not woken")
			}
			if res.Conditions[0].Reason != string(application.ReasonNodeOffline) {
				t.Errorf("condition %+v", res.Conditions)
			}
		})
	}
}

func TestTheTimeForWhichNobodyWatchedDoesNotCount(t *testing.T) {
	w := newWorld(t, "a")
	w.app("shop", 1, func(s *spec.Service) { s.Placement.Node = "a" })
	w.at("shop")
	w.app("shop", 1, nil)
	w.offline("a")
	w.now = w.now.Add(time.Hour)
	w.Nodes = New(w.opts) // another process
	if w.pass("a"); w.at("shop") != "a" {
		t.Errorf("moved to %q by a process that has only begun", w.at("shop"))
	}
	w.now = w.now.Add(5 * time.Minute)
	if w.pass("a"); w.at("shop") != "" {
		t.Errorf("still on %q", w.at("shop"))
	}
}

func TestAChangeIsSpreadOverTheNodesThatAreThere(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.app("busy", 9, nil)
	w.at("busy")
	w.app("shop", 3, func(s *spec.Service) { spread(s); keep(s) })
	if at := w.at("shop"); at != "a b c" {
		t.Fatalf("on %q", at)
	}
	w.offline("c") // while the change is still on its way
	if at := w.at("shop"); strings.Contains(at, "c") {
		t.Errorf("on %q", at)
	}
	w.settled("shop")
	before := w.at("shop")
	w.offline("b")
	if at := w.at("shop"); at != before || !strings.Contains(at, "b") {
		t.Errorf("what has come up is moved: on %q, before %q", at, before)
	}
}

func TestANodeThatNobodyTellsOfIsNotGone(t *testing.T) {
	w := newWorld(t, "a")
	w.app("shop", 1, func(s *spec.Service) { s.Placement.Node = "a" })
	w.at("shop")
	delete(w.members, "a")
	w.now = w.now.Add(time.Hour)
	if at := w.at("shop"); at != "a" {
		t.Errorf("moved to %q", at)
	}
	if l, err := w.located("shop"); err != nil || l.Away != "a" {
		t.Errorf("%+v, %v", l, err)
	}
}

// A control plane that begins anew sees its nodes come back one after another.
func TestNothingIsPlacedAnewWhileNodesAreOnlyComingBack(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	for id := range w.members {
		w.set(id, func(m *fleet.Member) { m.Labels = map[string]string{"group": "web"} })
	}
	app := func(replicas int) {
		w.app("shop", replicas, func(s *spec.Service) { spread(s); s.Placement.Labels = map[string]string{"group": "web"} })
	}
	app(6)
	if at := w.at("shop"); at != "a b c a b c" {
		t.Fatalf("placed on %q", at)
	}
	away := func(id string, heard time.Duration) {
		w.set(id, func(m *fleet.Member) {
			m.Online, m.Since, m.BackBy = false, w.now.Add(-heard), w.now.Add(20*time.Second)
		})
		w.pass(id)
	}
	// It was away itself, for longer than a node may be.
	for _, id := range []string{"a", "b", "c"} {
		away(id, time.Hour)
	}
	if at := w.at("shop"); at != "a b c a b c" {
		t.Errorf("without a change, on %q", at)
	}
	app(9)
	for _, back := range []string{"a", "b"} {
		w.set(back, func(m *fleet.Member) { m.Online, m.Since = true, w.now })
		if _, err := w.located("shop"); !errors.Is(err, placement.ErrAwaited) {
			t.Errorf("with %s back: %v", back, err)
		}
	}
	w.set("c", func(m *fleet.Member) { m.Online, m.Since = true, w.now })
	if at := w.at("shop"); at != "a b c a b c a b c" {
		t.Errorf("with all back, on %q", at)
	}
	// One that does not come is waited for no longer than that.
	away("c", 0)
	app(8)
	w.now = w.now.Add(20 * time.Second)
	if at := w.at("shop"); at != "a b a a b b a b" {
		t.Errorf("without c, on %q", at)
	}
}

func TestNothingIsPlacedAnewBeforeItIsKnownWhichNodesThereAre(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.app("busy", 9, nil)
	w.at("busy")
	w.app("shop", 2, spread)
	if at := w.at("shop"); at != "a b" {
		t.Fatalf("placed on %q", at)
	}
	known := w.members
	w.members = map[string]fleet.Member{}
	w.app("shop", 4, spread)
	if _, err := w.located("shop"); !errors.Is(err, placement.ErrAwaited) {
		t.Errorf("got %v", err)
	}
	w.members = known
	if at := w.at("shop"); strings.Count(at, "a") == 0 || strings.Count(at, "b") == 0 {
		t.Errorf("on %q", at)
	}
}

func TestWhatAGoneNodeHadIsStartedElsewhereAtOnce(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.app("shop", 4, func(s *spec.Service) { spread(s); keep(s) })
	w.app("disk", 1, func(s *spec.Service) { volumed(s); s.Placement.Node = "b" })
	if at := w.at("shop") + "/" + w.at("disk"); at != " a b /b" {
		t.Fatalf("placed on %q", at)
	}
	w.set("b", func(m *fleet.Member) { m.Online, m.Gone = false, true })
	if r := w.reason("b"); r != ReasonGone {
		t.Errorf("reason %s", r)
	}
	if at := w.at("shop"); strings.Contains(at, "b") || len(strings.Split(at, " ")) != 4 {
		t.Errorf("on %q", at)
	}
	if at := w.at("disk"); !strings.Contains(at, "app disk was on b, which is gone") {
		t.Errorf("an app with volumes is on %q", at)
	}
	w.app("disk", 1, func(s *spec.Service) { volumed(s); s.Placement.Node = "a" })
	if at := w.at("disk"); !strings.Contains(at, "app disk was on b, which is gone") {
		t.Errorf("an app with volumes is on %q", at)
	}
}

func TestANodeIsForgottenOnceNothingIsPlacedOnIt(t *testing.T) {
	w := newWorld(t, "a")
	w.app("shop", 1, func(s *spec.Service) { s.Placement.Labels = nil; s.Placement.Node = "" })
	w.must(w.SetCordon(t.Context(), "a", true))
	w.set("a", func(m *fleet.Member) { m.Gone = true })
	w.pass("a")
	if rows, err := w.store.Nodes(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("rows %v, %v", rows, err)
	}
}

func TestNothingNewComesToACordonedNodeAndWhatIsThereStays(t *testing.T) {
	w := newWorld(t, "a")
	w.app("busy", 9, nil)
	w.at("busy")
	w.app("first", 1, nil)
	if at := w.at("first"); at != "a" {
		t.Fatalf("on %q", at)
	}
	w.must(w.SetCordon(t.Context(), "a", true))
	w.app("second", 1, nil)
	w.app("first", 2, nil)
	if at := w.at("first") + "/" + w.at("second"); at != "a/" {
		t.Errorf("on %q", at)
	}
	w.must(w.SetCordon(t.Context(), "a", false))
	w.app("third", 1, nil)
	if at := w.at("third"); at != "a" {
		t.Errorf("opened again: on %q", at)
	}
}

func TestADrainMovesWhatItMayAndNamesTheRest(t *testing.T) {
	w := newWorld(t, "a")
	onA := func(s *spec.Service) { s.Placement.Node = "a" }
	w.app("busy", 9, nil)
	w.at("busy")
	w.app("shop", 2, nil)
	w.app("disk", 1, volumed)
	w.app("told", 1, onA)
	for _, app := range []string{"shop", "disk", "told"} {
		if at := w.at(app); at != "a" {
			t.Fatalf("%s is on %q", app, at)
		}
	}
	w.holds["a"] = []docker.ContainerState{{Status: docker.StatusRunning}}
	plan, err := w.Drain(t.Context(), "a", time.Time{})
	w.must(err)
	if fmt.Sprint(plan.Moves) != "[shop]" || len(plan.Stays) != 2 || !slices.Equal(w.moved, []string{"shop"}) {
		t.Fatalf("%+v; moved %v", plan, w.moved)
	}
	w.pass("a") // before the service was looked at: nothing is moved twice
	if at := w.at("shop") + "/" + w.at("disk"); at != "/a" || len(w.moved) != 1 {
		t.Errorf("on %q, moved %v", at, w.moved)
	}
	if done, err := w.Drained(t.Context(), "a"); err != nil || done {
		t.Errorf("drained: %v, %v", done, err)
	}
	if r := w.reason("a"); r != ReasonDraining {
		t.Errorf("reason %s", r)
	}
	w.holds["a"] = []docker.ContainerState{{Status: docker.StatusExited}}
	if done, err := w.Drained(t.Context(), "a"); err != nil || !done {
		t.Errorf("drained: %v, %v", done, err)
	}
	why, err := w.Nodes.Holds(t.Context(), "a")
	if err != nil || !strings.Contains(why, "app disk: it has data in disk/data there") {
		t.Errorf("holds %q, %v", why, err)
	}
	w.must(w.Undrain(t.Context(), "a"))
	if r := w.reason("a"); r != ReasonConnected {
		t.Errorf("reason %s", r)
	}
}

func TestAnUnknownNodeIsNotDrained(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Drain(t.Context(), "nobody", time.Time{}); !errors.Is(err, ErrUnknownNode) {
		t.Errorf("got %v", err)
	}
}

func TestANodeThatHoldsVolumesSaysSoAndOneThatCannotBeAskedIsNoAnswer(t *testing.T) {
	w := newWorld(t, "a")
	if why, err := w.Nodes.Holds(t.Context(), "a"); why != "" || err != nil {
		t.Errorf("holds %q, %v", why, err)
	}
	w.volumes["a"] = []docker.Volume{{Name: "files", Labels: map[string]string{docker.LabelFiles: "shop-web-1"}}, {Name: "left-data"}}
	if why, err := w.Nodes.Holds(t.Context(), "a"); !strings.Contains(why, "left-data") || err != nil {
		t.Errorf("holds %q, %v", why, err)
	}
	w.away = docker.ErrUnavailable
	if why, err := w.Nodes.Holds(t.Context(), "a"); err == nil {
		t.Errorf("holds %q without having asked", why)
	}
	w.away = nil
	w.pass("a")
	w.away = docker.ErrUnavailable
	if why, err := w.Nodes.Holds(t.Context(), "a"); !strings.Contains(why, "left-data") || err != nil {
		t.Errorf("away: holds %q, %v", why, err)
	}
}

func TestWhatIsPlacedOnANodeCountsBeforeItIsThere(t *testing.T) {
	w := newWorld(t, "a")
	w.pass("a")
	w.app("shop", 1, func(s *spec.Service) { volumed(s); s.Placement.Node = "a" })
	w.at("shop")
	_, err := w.store.ApplyChange(t.Context(), store.Change{AppID: "shop", Delete: []string{"shop-web"}, DeleteApp: true, Now: w.now})
	w.must(err)
	w.must(w.store.DeletePendingTeardown(t.Context(), "shop-web"))
	w.away = docker.ErrUnavailable
	if why, err := w.Nodes.Holds(t.Context(), "a"); !strings.Contains(why, "shop/data") || err != nil {
		t.Errorf("holds %q, %v", why, err)
	}
	w.away = nil
	w.pass("a") // the volume was never made
	w.away = docker.ErrUnavailable
	if why, err := w.Nodes.Holds(t.Context(), "a"); why != "" || err != nil {
		t.Errorf("holds %q, %v", why, err)
	}
}

func TestANodeThatIsBackIsTidiedAndTakenBack(t *testing.T) {
	w := newWorld(t, "a")
	w.app("busy", 9, nil)
	w.at("busy")
	w.app("shop", 1, nil)
	w.at("shop")
	w.offline("a")
	w.now = w.now.Add(10 * time.Minute)
	w.at("shop")
	p, err := w.store.PlacementOf(t.Context(), "shop")
	w.must(err)
	if fmt.Sprint(p.Nodes, p.Lost) != "[] [a]" {
		t.Fatalf("placed %+v", p)
	}
	w.set("a", func(m *fleet.Member) { m.Online, m.Since = true, w.now })
	w.left = true
	if r := w.reason("a"); r != ReasonLeftovers || fmt.Sprint(w.back) != "[a]" {
		t.Errorf("reason %s, back %v", r, w.back)
	}
	if p, err = w.store.PlacementOf(t.Context(), "shop"); err != nil || fmt.Sprint(p.Lost) != "[a]" {
		t.Errorf("taken back before it is tidy: %+v, %v", p, err)
	}
	w.left = false
	if r := w.reason("a"); r != ReasonConnected {
		t.Errorf("reason %s", r)
	}
	if p, err = w.store.PlacementOf(t.Context(), "shop"); err != nil || len(p.Lost) != 0 || w.woken["shop-web"] == 0 {
		t.Errorf("not taken back: %+v, %v", p, err)
	}
	if rows, err := w.store.Nodes(t.Context()); err != nil || !rows[0].OfflineSince.IsZero() {
		t.Errorf("rows %+v, %v", rows, err)
	}
}

func TestWhatWasDeletedWhileItsNodeWasAwayIsRemovedThere(t *testing.T) {
	w := newWorld(t, "a")
	w.app("shop", 1, nil)
	w.app("going", 1, nil)
	_, err := w.store.ApplyChange(t.Context(), store.Change{AppID: "going", Delete: []string{"going-web"}, DeleteApp: true, Now: w.now})
	w.must(err)
	for _, name := range []string{"old-web", "shop-web", "going-web"} {
		w.holds["a"] = append(w.holds["a"], docker.ContainerState{Labels: map[string]string{docker.LabelService: name}})
	}
	w.pass("a")
	if !slices.Equal(w.removed, []string{"old-web"}) {
		t.Errorf("removed %v", w.removed)
	}
}

func TestEachServiceOfAnAppIsLookedAtWhenItMoves(t *testing.T) {
	w := newWorld(t, "a")
	w.app("busy", 9, nil)
	w.at("busy")
	two := []store.DesiredService{{Name: "shop-web", AppID: "shop", Replicas: 1}, {Name: "shop-worker", AppID: "shop", Replicas: 1}}
	w.put(two...)
	w.at("shop")
	w.set("a", func(m *fleet.Member) { m.Gone = true })
	if at := w.at("shop"); at != "" || w.woken["shop-worker"] != 1 {
		t.Errorf("on %q, woken %v", at, w.woken)
	}
}
