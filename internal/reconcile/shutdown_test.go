package reconcile

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheEndLetsRunningPassesFinishAndStartsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Workers: 1, DrainTimeout: time.Minute}, take(10*time.Second)).start()
		r.Enqueue(web)
		synctest.Wait()
		r.Enqueue(db)
		r.Enqueue(web)
		began := time.Now()
		r.halt()
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("Run ended after %s, want the ten seconds of the pass", took)
		}
		if out, _ := r.Results(web); out.Err != nil || out.Interrupted {
			t.Errorf("the pass was not left to finish: %+v", out)
		}
		r.Enqueue(db) // does nothing any more
		synctest.Wait()
		r.wantPasses(db, 0)
		r.wantPasses(web, 1)
	})
}

func TestTheEndCutsPassesThatTakeTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{DrainTimeout: 5 * time.Second}, stubborn).start()
		r.Enqueue(web)
		r.Enqueue(db)
		synctest.Wait()
		began := time.Now()
		r.halt()
		if took := time.Since(began); took != 6*time.Second { // and the second they take to notice
			t.Errorf("Run ended after %s, want 6s", took)
		}
		if len(r.results) != 2 || !r.results[0].Interrupted || !r.results[1].Interrupted {
			t.Errorf("the outcomes are %+v", r.results)
		}
		if !errors.Is(r.results[0].Err, errStopped) {
			t.Errorf("the outcome does not say why: %v", r.results[0].Err)
		}
	})
}

func TestAnEngineRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, rest).start()
		if err := r.Run(t.Context()); !errors.Is(err, ErrRunTwice) {
			t.Errorf("a second Run while it runs: %v", err)
		}
		r.halt()
		if err := r.Run(t.Context()); !errors.Is(err, ErrRunTwice) {
			t.Errorf("a second Run after it ended: %v", err)
		}
	})
}
