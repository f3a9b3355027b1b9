package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/rollout"
)

// callTimeout bounds a call of a provider that outlives its request.
const callTimeout = 2 * time.Minute

// background begins a call that may outlive its request, and delivers its end.
func (s *Service) background(do func(ctx context.Context) error) (ended <-chan error, giveUp context.CancelCauseFunc, err error) {
	select {
	case s.calls <- struct{}{}:
	default:
		return nil, nil, fmt.Errorf("%w: %d requests are under way at the providers", provider.ErrUnavailable, maxCalls)
	}
	ctx, giveUp := context.WithCancelCause(s.base)
	out := make(chan error, 1)
	s.wg.Go(func() {
		defer func() { <-s.calls }()
		defer giveUp(nil)
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		out <- do(ctx)
	})
	return out, giveUp, nil
}

// ask makes a call that changes what runs. done is false when the provider was
// still at it after a while: then the call goes on, and if it fails that is shown
// with the workload's status.
func (s *Service) ask(ctx context.Context, r row, verb string, do func(ctx context.Context) error) (done bool, err error) {
	var taken atomic.Bool // by the request, which answers, or by the call, which has ended
	ended, _, err := s.background(func(ctx context.Context) error {
		err := do(ctx)
		defer s.wake(r)
		if !taken.CompareAndSwap(false, true) {
			s.note(r, verb, err)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	patience := time.NewTimer(s.cfg.Patience)
	defer patience.Stop()
	select {
	case err = <-ended:
	case <-patience.C:
		if taken.CompareAndSwap(false, true) {
			return false, nil
		}
		err = <-ended
	case <-ctx.Done():
		if taken.CompareAndSwap(false, true) {
			return false, ctx.Err()
		}
		err = <-ended
	}
	if err == nil {
		s.troubles.drop(r.ID)
	}
	return true, err
}

// note keeps why a call failed whose request was answered.
func (s *Service) note(r row, verb string, err error) {
	if err == nil {
		s.troubles.drop(r.ID)
		return
	}
	if s.base.Err() != nil {
		return // it goes on with the next process
	}
	s.log.Warn("a request failed after it was answered", "workload", r.Name, "id", r.ID.String(), "verb", verb, "error", err.Error())
	s.troubles.put(r.ID, wire.WorkloadTrouble{Verb: verb, At: s.now(), Message: labelsOf(r).plain(err.Error())})
}

// roll makes a call that begins a rollout and returns soon after that is recorded. An
// error means that nothing was changed: none was recorded, or the provider refused
// it. before is the rollout that was the newest, id.Nil for none.
func (s *Service) roll(ctx context.Context, r row, before id.ID, do func(ctx context.Context) (*rollout.Result, error)) (*rollout.Rollout, error) {
	moved, stop := s.moves.watch(r.ID)
	defer stop()
	var res *rollout.Result
	ended, giveUp, err := s.background(func(ctx context.Context) error {
		defer s.wake(r)
		var err error
		res, err = do(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	patience := time.NewTimer(s.cfg.Patience)
	defer patience.Stop()
	for {
		select {
		case err := <-ended:
			ro, err := s.begun(ctx, r, before, res, err)
			if err != nil {
				return nil, err
			}
			return taken(ro)
		case ev := <-moved:
			if ev.Rollout != before {
				return s.accepted(ctx, r, ev.Rollout, moved)
			}
		case <-patience.C:
			// Nothing is recorded yet: it waits for the provider to say how the
			// workload is.
			giveUp(noAnswer(s.cfg.Patience))
		case <-ctx.Done():
			giveUp(ctx.Err())
			return nil, ctx.Err()
		}
	}
}

func noAnswer(within time.Duration) error {
	return fmt.Errorf("%w: the provider has not answered within %s", provider.ErrUnavailable, within)
}

// refusalTime is how long a request waits for a provider to refuse what it cannot
// do, which it does before it does anything.
const refusalTime = 250 * time.Millisecond

// accepted waits a moment for the provider to take a rollout in, or to refuse it.
func (s *Service) accepted(ctx context.Context, r row, began id.ID, moved <-chan rollout.Event) (*rollout.Rollout, error) {
	refusal := time.NewTimer(refusalTime)
	defer refusal.Stop()
	for {
		ro, err := s.rollouts.Rollout(ctx, r.ID, began)
		if err != nil {
			return nil, err
		}
		if ro.Ended() || ro.Phase == rollout.PhaseAwait {
			return taken(ro)
		}
		select {
		case <-moved:
		case <-refusal.C:
			return ro, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// taken makes an error of a rollout that was refused before anything changed.
func taken(ro *rollout.Rollout) (*rollout.Rollout, error) {
	if ro.State == rollout.StateFailed && ro.Untouched {
		return nil, ro.Err()
	}
	return ro, nil
}

// begun is the rollout that a call began. One that ended badly at once is no error:
// it tells that itself.
func (s *Service) begun(ctx context.Context, r row, before id.ID, res *rollout.Result, err error) (*rollout.Rollout, error) {
	if res != nil {
		return &res.Rollout, nil
	}
	newest, readErr := s.newest(ctx, r.ID)
	if readErr == nil && newest != nil && newest.ID != before {
		return newest, nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", provider.ErrUnavailable, err)
	}
	return nil, err
}

// newest is the newest rollout of a workload, nil when there is none.
func (s *Service) newest(ctx context.Context, workload id.ID) (*rollout.Rollout, error) {
	list, _, err := s.rollouts.Rollouts(ctx, workload, rollout.Page{Limit: 1})
	if errors.Is(err, provider.ErrNotFound) || err == nil && len(list) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// moves tells those who wait of transitions of rollouts.
type moves struct {
	mu      sync.Mutex
	waiting map[id.ID][]chan rollout.Event
}

// watch delivers transitions of a workload until stop is called. A slow reader
// misses all but the first that it has not taken.
func (m *moves) watch(workload id.ID) (<-chan rollout.Event, func()) {
	c := make(chan rollout.Event, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting = map[id.ID][]chan rollout.Event{}
	}
	m.waiting[workload] = append(m.waiting[workload], c)
	return c, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		left := slices.DeleteFunc(m.waiting[workload], func(o chan rollout.Event) bool { return o == c })
		m.waiting[workload] = left
		if len(left) == 0 {
			delete(m.waiting, workload)
		}
	}
}

// tell never blocks.
func (m *moves) tell(e rollout.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.waiting[e.Workload] {
		select {
		case c <- e:
		default:
		}
	}
}

// troubles are the last failures of calls that outlived their requests.
type troubles struct {
	mu sync.Mutex
	by map[id.ID]wire.WorkloadTrouble
}

func (t *troubles) put(workload id.ID, trouble wire.WorkloadTrouble) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[id.ID]wire.WorkloadTrouble{}
	}
	t.by[workload] = trouble
}

func (t *troubles) get(workload id.ID) *wire.WorkloadTrouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	trouble, ok := t.by[workload]
	if !ok {
		return nil
	}
	return &trouble
}

func (t *troubles) drop(workload id.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, workload)
}
