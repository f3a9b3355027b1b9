package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
)

func changesTests() []test {
	return []test{
		{"EveryWriteSaysWhatItTouched", changesNotes},
		{"WriteThatChangesNothingIsNotTold", changesSilent},
		{"NoteComesAfterTheCommit", changesAfterCommit},
		{"SlowListenerBlocksNobodyAndMissesNothing", changesSlow},
		{"EveryListenerIsTold", changesTwo},
		{"ListenerMayWrite", changesWrite},
		{"EndsWithItsContextAndWithTheStore", changesEnd},
	}
}

// listener is a running Changes call.
type listener struct {
	e     *env
	notes chan store.ChangeNote
	ended chan error
	stop  context.CancelFunc
}

// listen returns once nothing is missed any more.
func (e *env) listen() *listener {
	e.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{e, make(chan store.ChangeNote, 1024), make(chan error, 1), cancel}
	ready := make(chan struct{})
	go func() {
		first := true
		l.ended <- e.s.Changes(ctx, func(c store.ChangeNote) {
			if first {
				first = false
				if !reflect.DeepEqual(c, store.ChangeNote{}) {
					e.Errorf("the first note is %+v", c)
				}
				close(ready)
				return
			}
			l.notes <- c
		})
	}()
	e.wait("the first note", ready)
	e.Cleanup(func() { _ = l.end() })
	return l
}

// end stops the call and returns what it returned; nil when it had ended.
func (l *listener) end() error {
	l.stop()
	select {
	case err, ok := <-l.ended:
		if ok {
			close(l.ended)
		}
		return err
	case <-time.After(patience):
		l.e.Error("Changes does not end")
		return nil
	}
}

func (l *listener) next() store.ChangeNote {
	l.e.Helper()
	select {
	case n := <-l.notes:
		return n
	case <-time.After(patience):
		l.e.Fatal("no note came")
		return store.ChangeNote{}
	}
}

func (e *env) wait(what string, c <-chan struct{}) {
	e.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		e.Fatalf("%s did not come", what)
	}
}

func changesNotes(e *env) {
	l := e.listen()
	check := func(what string, want store.ChangeNote) {
		e.Helper()
		if got := l.next(); !reflect.DeepEqual(got, want) {
			e.Errorf("%s: got %+v, want %+v", what, got, want)
		}
	}
	a := e.apply(applying("shop", svc("shop", "web"), svc("shop", "api")))
	check("put", store.ChangeNote{Services: []string{"shop-api", "shop-web"}, Attempts: []int64{a.ID}})
	b := e.apply(deleting("shop", "shop-api"))
	check("delete and supersede", store.ChangeNote{Services: []string{"shop-api"}, Attempts: []int64{a.ID, b.ID}})
	e.update(a.ID, "shop-web", store.AttemptRunning)
	check("progress", store.ChangeNote{Attempts: []int64{a.ID}})
	e.ok(e.s.AppendTrace(e.ctx, event(b.ID, "x"), event(a.ID, "y"), event(b.ID, "z")))
	check("trace", store.ChangeNote{Attempts: []int64{a.ID, b.ID}})
	e.activate(activeRow("shop-web", "v1"))
	check("cutover", store.ChangeNote{Routes: true})
	must[int64](e)(e.s.DeleteActiveRelease(e.ctx, "shop-web"))
	check("end of a route", store.ChangeNote{Routes: true})
	e.ok(e.s.AddPendingTeardown(e.ctx, "shop-old", ""))
	check("teardown", store.ChangeNote{Services: []string{"shop-old"}})
}

func changesSilent(e *env) {
	a := e.apply(applying("shop", svc("shop", "web")))
	e.update(a.ID, "shop-web", store.AttemptSucceeded)
	e.activate(activeRow("shop-web", "v1"))
	l := e.listen()
	e.activate(activeRow("shop-web", "v1"))
	e.update(a.ID, "shop-web", store.AttemptFailed)
	must[int64](e)(e.s.DeleteActiveRelease(e.ctx, "shop-none"))
	e.is(e.applyErr(applying("blog", svc("blog", "web"), store.DesiredService{Name: "shop-web"})), store.ErrNameTaken)
	e.ok(e.s.UpsertConditions(e.ctx, "x", []reconcile.Condition{condition("Ready", reconcile.True)}))
	e.release(release("shop-web", "web@sha256:aa", "n1"))
	e.ok(e.s.AppendTrace(e.ctx))
	e.apply(applying("last", svc("last", "one")))
	if got := l.next(); !slices.Equal(got.Services, []string{"last-one"}) || got.Routes {
		e.Errorf("got %+v", got)
	}
}

func changesAfterCommit(e *env) {
	seen := make(chan error, 1)
	ready := make(chan struct{})
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	go func() {
		_ = e.s.Changes(ctx, func(c store.ChangeNote) {
			if len(c.Services) == 0 {
				close(ready)
				return
			}
			_, err := e.s.GetDesiredService(e.ctx, c.Services[0])
			seen <- err
		})
	}()
	e.wait("the first note", ready)
	e.apply(applying("shop", svc("shop", "web")))
	select {
	case err := <-seen:
		e.ok(err)
	case <-time.After(patience):
		e.Fatal("no note came")
	}
}

func changesSlow(e *env) {
	busy, goOn := make(chan struct{}), make(chan struct{})
	notes := make(chan store.ChangeNote, 64)
	ready := make(chan struct{})
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	go func() {
		calls := 0
		_ = e.s.Changes(ctx, func(c store.ChangeNote) {
			switch calls++; calls {
			case 1:
				close(ready)
			case 2:
				close(busy)
				<-goOn
			default:
				notes <- c
			}
		})
	}()
	e.wait("the first note", ready)
	e.apply(applying("first", svc("first", "one")))
	e.wait("a busy listener", busy)
	var want []string
	for i := range 30 {
		app := fmt.Sprintf("app%02d", i%10)
		e.apply(applying(app, svc(app, "web")))
		if i < 10 {
			want = append(want, app+"-web")
		}
	}
	e.activate(activeRow("app00-web", "v1"))
	close(goOn)
	select {
	case got := <-notes:
		if !slices.Equal(got.Services, want) || !got.Routes || len(got.Attempts) != 30 {
			e.Errorf("got %+v", got)
		}
	case <-time.After(patience):
		e.Fatal("no note came")
	}
}

func changesTwo(e *env) {
	one, two := e.listen(), e.listen()
	e.apply(applying("shop", svc("shop", "web")))
	for _, l := range []*listener{one, two} {
		same(e, "service", l.next().Services[0], "shop-web")
	}
	if err := one.end(); !errors.Is(err, context.Canceled) {
		e.Errorf("ended with %v", err)
	}
	e.apply(applying("shop", svc("shop", "api")))
	same(e, "service", two.next().Services[0], "shop-api")
}

func changesWrite(e *env) {
	done, ready := make(chan error, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	go func() {
		_ = e.s.Changes(ctx, func(c store.ChangeNote) {
			switch {
			case len(c.Services) == 0 && !c.Routes:
				close(ready)
			case !c.Routes:
				_, err := e.s.SetActiveRelease(e.ctx, activeRow("shop-web", "v1"))
				done <- err
			}
		})
	}()
	e.wait("the first note", ready)
	e.apply(applying("shop", svc("shop", "web")))
	select {
	case err := <-done:
		e.ok(err)
	case <-time.After(patience):
		e.Fatal("a write within a note does not end")
	}
}

func changesEnd(e *env) {
	if err := e.listen().end(); !errors.Is(err, context.Canceled) {
		e.Errorf("ended with %v, want that the context is done", err)
	}
	l := e.listen()
	e.ok(e.s.Close())
	select {
	case err := <-l.ended:
		if err == nil {
			e.Error("ended without saying that the store is closed")
		}
		close(l.ended)
	case <-time.After(patience):
		e.Error("Changes goes on after Close")
	}
}
