package hosting

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/resolvable"
)

// Multiples of Timing.Ask.
const (
	askLast    = 60 // the longest time between two looks at one domain
	refusedFor = 12 // how long one that was refused is not taken anew
)

// Bounds of what is asked at once: leases, and domains of one.
const (
	maxAsking   = 4
	maxTogether = 8
)

// Why a domain is not there, in words for its tenant.
const (
	whyTaken      = "somebody else has it"
	whyNoPort     = "the service has no port that it could lead to"
	whyNoAddress  = "it does not resolve"
	whyUnanswered = "whether it resolves could not be found out"
)

// wishes brings the domains that a lease asks for further. It returns the row as it is
// to be, nil when it is so, and when to look again.
func (h *Hosting) wishes(ctx context.Context, r *row) (*row, time.Duration, error) {
	if h.cfg.Ingress == nil || len(r.Names.Wishes) == 0 || r.Status != backend.ProvisionStatusReady {
		return nil, 0, nil
	}
	next, claimed, now := r.clone(), claimsOf(h.rows.rivals(r)), h.cfg.Now()
	var due []string
	var again time.Duration
	changed := false
	for _, service := range slices.Sorted(maps.Keys(r.Names.Wishes)) {
		w := r.Names.Wishes[service]
		if !w.live() {
			continue
		}
		switch state := h.judge(r, service, w, claimed, now); state {
		case stands:
			again = sooner(again, h.lookAgain(w, now))
		case isDue:
			due = append(due, service)
		default:
			h.decide(ctx, next, service, state)
			changed = true
		}
	}
	asked, err := h.askGate(ctx, r, due)
	for service, answer := range asked {
		next.answered(service, answer, h.cfg.Now(), h.cfg.Timing.Ask)
		changed = true
	}
	if len(asked) < len(due) {
		again = sooner(again, h.cfg.Timing.Recheck) // others ask
	}
	if err != nil || !changed {
		return nil, again, err
	}
	return next, again, nil
}

// judgement is what is to become of a wish.
type judgement int

const (
	stands judgement = iota
	isDue            // the gate is to be asked
	isServed
	isTaken
	hasNoPort
)

func (h *Hosting) judge(r *row, service string, w wish, claimed claims, now time.Time) judgement {
	item := r.itemOf(service)
	switch {
	case item == nil || !claimed.owns(w.Domain, r.Lease, service):
		return isTaken
	case item.Quantity == 0 || len(r.routePorts(service)) == 0:
		if w.State == wishWaits && w.Why == whyNoPort {
			return stands
		}
		return hasNoPort
	case w.State == wishWaits && (w.Why == whyNoPort || !now.Before(w.Again)):
		return isDue
	case w.State == wishWaits:
		return stands
	}
	switch h.cfg.Ingress.Router.Host(w.Domain, routeName(r.Lease, service, every)) {
	case Served:
		return isServed
	case Refused:
		return isTaken
	case Unanswered: // a data plane that is not there rolls nothing back
	}
	return stands
}

// lookAgain is when a wish that stands is looked at. The router tells of those that it
// answers for.
func (h *Hosting) lookAgain(w wish, now time.Time) time.Duration {
	if w.State == wishWaits && w.Why != whyNoPort {
		return max(w.Again.Sub(now), soon)
	}
	return h.cfg.Timing.Watchdog
}

// decide notes what became of a wish.
func (h *Hosting) decide(ctx context.Context, r *row, service string, what judgement) {
	w := r.Names.Wishes[service]
	switch what {
	case isServed:
		r.itemOf(service).CustomDomain = w.Domain
		delete(r.Names.Wishes, service)
		h.cfg.Logger.InfoContext(ctx, "a custom domain is served", "lease", r.Lease, "service", service, "domain", w.Domain)
	case isTaken:
		r.Names.wish(service, wish{Domain: w.Domain, State: wishRefused, Since: w.Since, Again: h.cfg.Now().Add(refusedFor * h.cfg.Timing.Ask), Why: whyTaken})
		h.cfg.Logger.WarnContext(ctx, "a custom domain is refused: somebody else has it", "lease", r.Lease, "service", service, "domain", w.Domain)
	case hasNoPort:
		r.Names.wish(service, wish{Domain: w.Domain, State: wishWaits, Since: w.Since, Why: whyNoPort})
	case stands, isDue:
	}
}

// answered notes what the gate said.
func (r *row) answered(service string, answer error, now time.Time, first time.Duration) {
	w := r.Names.Wishes[service]
	switch {
	case answer == nil:
		w = wish{Domain: w.Domain, State: wishRouting, Since: w.Since}
	default:
		w.Why = whyUnanswered
		if errors.Is(answer, resolvable.ErrNoAddress) {
			w.Why = whyNoAddress
		}
		w.Again = now.Add(min(first<<min(w.Tries, 10), askLast*first))
		w.Tries++
	}
	r.Names.wish(service, w)
}

// askGate asks for the domains of some services at once, and returns what was said of
// each. It asks for none, or not all, where enough is asked already.
func (h *Hosting) askGate(ctx context.Context, r *row, services []string) (map[string]error, error) {
	if len(services) == 0 {
		return nil, nil
	}
	select {
	case h.asking <- struct{}{}:
		defer func() { <-h.asking }()
	default:
		return nil, nil
	}
	services = services[:min(len(services), maxTogether)]
	answers := make([]error, len(services))
	var wg sync.WaitGroup
	for i, service := range services {
		wg.Go(func() { answers[i] = h.cfg.Ingress.Gate.Check(ctx, r.Names.Wishes[service].Domain) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil { // overtaken, or the process ends: nobody has said anything
		return nil, err
	}
	out := make(map[string]error, len(services))
	for i, service := range services {
		out[service] = answers[i]
	}
	return out, nil
}
