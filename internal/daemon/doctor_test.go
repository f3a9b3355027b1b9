package daemon

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/ingress"
	"github.com/berth-cloud/berth/internal/wire"
)

func TestDoctorSeesADataPlaneThatStoppedAnswering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := false
		s := &supervisor{cfg: &Config{DataDir: "/data"}, logger: slog.New(slog.DiscardHandler),
			hello: func(ctx context.Context) (table.Hello, error) {
				if hangs {
					<-ctx.Done()
					return table.Hello{}, ctx.Err()
				}
				return table.Hello{PID: 7}, nil
			}}
		s.note(table.Hello{PID: 7}, "")
		if got := s.check(t.Context())[0]; got.State != wire.CheckOK {
			t.Errorf("a data plane that answers: %+v", got)
		}
		hangs = true
		got := s.check(t.Context())[0]
		if got.State != wire.CheckFailed || !strings.Contains(got.Message, "pid 7") || !strings.Contains(got.Fix, "process 7") {
			t.Errorf("a data plane that hangs: %+v, want a failure that names it", got)
		}
	})
}

func TestOneLookThatTakesAllItsTimeFailsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Second
		hangs := func(ctx context.Context) []wire.Check {
			<-ctx.Done()
			return []wire.Check{{Name: "first", State: wire.CheckFailed}, {Name: "first too"}}
		}
		quick := func(ctx context.Context) []wire.Check {
			if ctx.Err() != nil {
				return []wire.Check{{Name: "second", State: wire.CheckFailed}}
			}
			return []wire.Check{{Name: "second", State: wire.CheckOK}}
		}
		start := time.Now()
		got := together(t.Context(), limit, hangs, quick)
		if took := time.Since(start); took != limit {
			t.Errorf("took %v, want %v", took, limit)
		}
		if len(got) != 3 || got[0].Name != "first" || got[2].Name != "second" || got[2].State != wire.CheckOK {
			t.Errorf("found %+v, want both looks in order, the second well", got)
		}
	})
}

func TestDoctorSaysWhenRoutesAreNotTaken(t *testing.T) {
	well := []reconcile.Condition{{Type: reconcile.ConditionReady, Status: reconcile.True, Reason: ingress.ReasonInSync}}
	away := []reconcile.Condition{{Type: reconcile.ConditionReady, Status: reconcile.False, Reason: ingress.ReasonUnreachable}}
	for name, conditions := range map[string][]reconcile.Condition{"none yet": nil, "in sync": well, "another check tells": away} {
		if got := routesCheck(conditions, 7, "/data/ingress"); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	got := routesCheck([]reconcile.Condition{{Status: reconcile.False, Reason: ingress.ReasonRefused, Message: "no space left"}}, 7, "/data/ingress")
	if len(got) != 1 || got[0].State != wire.CheckFailed || !strings.Contains(got[0].Message, "no space left") || !strings.Contains(got[0].Fix, "process 7") {
		t.Errorf("refused: %+v", got)
	}
	got = routesCheck([]reconcile.Condition{{Status: reconcile.False, Reason: ingress.ReasonOlderStore, Message: "older version"}}, 7, "/data/ingress")
	if len(got) != 1 || got[0].State != wire.CheckFailed || !strings.Contains(got[0].Fix, "stop berthd, end process 7, remove /data/ingress/tables") {
		t.Errorf("an older store: %+v", got)
	}
}

func TestDoctorWarnsOfADiskThatFills(t *testing.T) {
	for free, want := range map[uint64]wire.CheckState{
		0: wire.CheckFailed, noSpace - 1: wire.CheckFailed, noSpace: wire.CheckWarning, littleSpace - 1: wire.CheckWarning, littleSpace: wire.CheckOK,
	} {
		c := wire.Check{State: wire.CheckOK, Message: "/data"}
		if judgeSpace(&c, free); c.State != want || (c.Fix == "") != (want == wire.CheckOK) {
			t.Errorf("%d bytes: %+v, want %s", free, c, want)
		}
	}
}
