package outbox

import "time"

// turn is what a Step is to do next.
type turn struct {
	changed bool
	givenUp []row

	// send is a copy of the row that was claimed; nil is none.
	send  *row
	claim claim

	// wait is until there may be something to do; 0 is that nothing waits.
	wait time.Duration
}

// begin gives up what is too old, and claims the first row if it is due.
func (r *record) begin(now time.Time) (t turn) {
	if r.Claim.live(now) {
		t.wait = r.Claim.Until.Sub(now)
		return t
	}
	for len(r.Rows) > 0 && now.Sub(r.Rows[0].CreatedAt) >= MaxAge {
		r.GivenUp++
		r.Claim = nil
		t.givenUp = append(t.givenUp, r.drop())
		t.changed = true
	}
	if len(r.Rows) == 0 {
		return t
	}
	first := &r.Rows[0]
	if t.wait = first.due(now); t.wait > 0 {
		return t
	}
	if t.wait = r.sign(first, now); t.wait > 0 {
		return t
	}
	r.Claims++
	r.Claim = &claim{Number: r.Claims, Until: now.Add(claimTime)}
	first.Attempts++
	first.LastTry = now
	copied := *first
	t.changed, t.send, t.claim = true, &copied, *r.Claim
	return t
}

// due is how long a row waits for its next attempt, or for being given up. A wait
// that is longer than any was set by a clock that went back since.
func (r *row) due(now time.Time) time.Duration {
	wait := r.NextTry.Sub(now)
	if wait <= 0 || wait > MaxBackoff {
		return 0
	}
	return min(wait, r.CreatedAt.Add(MaxAge).Sub(now))
}

// end writes down what came of a claim. An acknowledgement counts however late it is
// known; all else is for whoever has the claim. It says whether there was anything to
// write.
func (r *record) end(t turn, out outcome, retryAt time.Time) bool {
	if len(r.Rows) == 0 || !r.Rows[0].same(t.send) {
		return false
	}
	mine := r.Claim != nil && r.Claim.Number == t.claim.Number
	first := &r.Rows[0]
	switch {
	case out.acknowledged:
		r.drop()
		r.Claim = nil
		return true
	case !mine:
		return false
	case out.abandoned:
		first.Attempts--
	default:
		first.NextTry = retryAt
		first.Failure = out.failure
	}
	if out.refused {
		first.Signed = 0
	}
	r.Claim = nil
	return true
}
