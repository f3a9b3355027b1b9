package registration

import (
	"net/netip"
	"sync"
	"time"
)

// maxAddresses bounds what is remembered of addresses. When there are more, those that
// have not asked for long are forgotten, and if there are none, all.
const maxAddresses = 4096

// limiter is a bucket of tokens for each address; of IPv6, for each /64.
type limiter struct {
	now         func() time.Time
	rate, burst float64

	mu      sync.Mutex
	buckets map[netip.Prefix]bucket
}

type bucket struct {
	level float64
	at    time.Time
}

func newLimiter(now func() time.Time, rate, burst float64) *limiter {
	return &limiter{now: now, rate: rate, burst: burst, buckets: map[netip.Prefix]bucket{}}
}

func (l *limiter) allow(remote string) bool {
	var who netip.Prefix // of what is no address there is one bucket
	if at, err := netip.ParseAddrPort(remote); err == nil {
		ip, bits := at.Addr().Unmap().WithZone(""), 32
		if ip.Is6() {
			bits = 64
		}
		who, _ = ip.Prefix(bits)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b, ok := l.buckets[who]
	if !ok {
		l.make(now)
		b = bucket{l.burst, now}
	}
	b.level = min(l.burst, b.level+max(0, now.Sub(b.at).Seconds())*l.rate)
	b.at = now
	allowed := b.level >= 1
	if allowed {
		b.level--
	}
	l.buckets[who] = b
	return allowed
}

// make makes room for one more.
func (l *limiter) make(now time.Time) {
	if len(l.buckets) < maxAddresses {
		return
	}
	full := time.Duration(l.burst / l.rate * float64(time.Second))
	for who, b := range l.buckets {
		if now.Sub(b.at) >= full {
			delete(l.buckets, who)
		}
	}
	if len(l.buckets) >= maxAddresses {
		clear(l.buckets)
	}
}
