package registration

import (
	"net/netip"
	"sync"
	"time"
)

// maxAskers bounds what is remembered of who asks. When there are more, those that have
// not asked for long are forgotten, and if there are none, all.
const maxAskers = 4096

// limiter is a bucket of tokens for each who asks: an address, or an instance.
type limiter struct {
	now         func() time.Time
	rate, burst float64

	mu      sync.Mutex
	buckets map[string]bucket
}

type bucket struct {
	level float64
	at    time.Time
}

func newLimiter(now func() time.Time, rate, burst float64) *limiter {
	return &limiter{now: now, rate: rate, burst: burst, buckets: map[string]bucket{}}
}

// origin is the address of a connection; of IPv6, the /64. What is no address has one
// origin for all.
func origin(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 32
	if ip.Is6() {
		bits = 64
	}
	who, _ := ip.Prefix(bits)
	return who
}

func (l *limiter) allow(who string) bool {
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
	if len(l.buckets) < maxAskers {
		return
	}
	full := time.Duration(l.burst / l.rate * float64(time.Second))
	for who, b := range l.buckets {
		if now.Sub(b.at) >= full {
			delete(l.buckets, who)
		}
	}
	if len(l.buckets) >= maxAskers {
		clear(l.buckets)
	}
}
