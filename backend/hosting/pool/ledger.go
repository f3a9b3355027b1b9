package pool

import "github.com/berth-cloud/berth/backend/hosting/sku"

// ledger is the books: who holds what, and the sums. It refuses nothing for want of
// room, and has no lock.
type ledger struct {
	live     map[string]*holding      // by lease
	retained map[string]*retention    // by the lease that the data was of
	tenants  map[string]tenantBalance // of those with a lease
	used     sku.Size                 // by leases and by what is retained, an adopted disk once
	kept     int64                    // MB of retained, whole; some of it may be adopted
	count    int                      // instances
}

// holding is a lease that is allocated.
type holding struct {
	tenant    string
	instances []Instance
	size      sku.Size // of all instances
	from      string   // the lease whose retained data it adopts; "" for none
}

// retention is disk that outlived its lease.
type retention struct {
	tenant string
	diskMB int64
	by     string // the lease that adopts it; "" for none
}

// tenantBalance is what the leases of a tenant hold.
type tenantBalance struct {
	used   sku.Size
	leases int
}

func newLedger() *ledger {
	return &ledger{live: map[string]*holding{}, retained: map[string]*retention{}, tenants: map[string]tenantBalance{}}
}

// overlap is the disk that a lease shares with what it adopts, in MB.
func (l *ledger) overlap(h *holding) int64 {
	if r := l.retained[h.from]; h.from != "" && r != nil {
		return min(h.size.DiskMB, r.diskMB)
	}
	return 0
}

// add enters a lease that is not there. What it adopts must be there and free. It is
// not ok, and enters nothing, where a sum is more than can be counted.
func (l *ledger) add(lease string, h *holding) (ok bool) {
	net := h.size
	net.DiskMB -= l.overlap(h)
	used, ok := l.used.Add(net)
	tenant := l.tenants[h.tenant]
	sum, ok2 := tenant.used.Add(h.size)
	if !ok || !ok2 {
		return false
	}
	l.used = used
	l.tenants[h.tenant] = tenantBalance{used: sum, leases: tenant.leases + 1}
	l.count += len(h.instances)
	l.live[lease] = h
	if h.from != "" {
		l.retained[h.from].by = lease
	}
	return true
}

// remove takes a lease out. What it adopted is free again.
func (l *ledger) remove(lease string) {
	h := l.live[lease]
	if h == nil {
		return
	}
	net := h.size
	net.DiskMB -= l.overlap(h)
	l.used = l.used.Sub(net)
	if tenant := l.tenants[h.tenant]; tenant.leases == 1 {
		delete(l.tenants, h.tenant)
	} else {
		l.tenants[h.tenant] = tenantBalance{used: tenant.used.Sub(h.size), leases: tenant.leases - 1}
	}
	l.count -= len(h.instances)
	delete(l.live, lease)
	if h.from != "" {
		l.retained[h.from].by = ""
	}
}

// retain enters disk that is not there yet; ok as in add.
func (l *ledger) retain(lease string, r *retention) (ok bool) {
	used, ok := l.used.Add(sku.Size{DiskMB: r.diskMB})
	if !ok {
		return false
	}
	l.used, l.kept = used, l.kept+r.diskMB // no more than used in sum with what is adopted
	l.retained[lease] = r
	return true
}

// forget takes retained disk out. Who adopts it holds the whole of his own then.
func (l *ledger) forget(lease string) {
	r := l.retained[lease]
	if r == nil {
		return
	}
	l.used.DiskMB -= r.diskMB
	if h := l.live[r.by]; r.by != "" && h != nil {
		l.used.DiskMB += l.overlap(h)
		h.from = ""
	}
	l.kept -= r.diskMB
	delete(l.retained, lease)
}
