package hosting_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/id"
)

// past is every row that was ever written, and what is wrong with it.
type past struct {
	mu    sync.Mutex
	last  map[string]moment
	calls map[string][]backend.CallbackStatus // that each lease should have sent, in order
	seen  map[backend.ProvisionStatus]int
	wrong []string
	lived map[string]bool // leases that were ready in this life
	ever  map[id.ID]bool  // workloads
}

// moment is what counts of a row.
type moment struct {
	Status    backend.ProvisionStatus `json:"status"`
	FailCount int                     `json:"fail_count"`
	Reason    backend.Reason          `json:"reason"`
	Gone      bool                    `json:"gone"`
	Life      string                  `json:"life"`
	Workloads map[string]struct {
		Instance id.ID `json:"instance"`
	} `json:"workloads"`
}

const (
	none           = backend.ProvisionStatus("")
	gone           = backend.ProvisionStatus("gone")
	provisioning   = backend.ProvisionStatusProvisioning
	ready          = backend.ProvisionStatusReady
	failing        = backend.ProvisionStatusFailing
	failed         = backend.ProvisionStatusFailed
	restarting     = backend.ProvisionStatusRestarting
	updating       = backend.ProvisionStatusUpdating
	deprovisioning = backend.ProvisionStatusDeprovisioning
)

// table is where a lease may go from each state.
var table = map[backend.ProvisionStatus][]backend.ProvisionStatus{
	none:           {provisioning},
	provisioning:   {ready, failed, deprovisioning},
	ready:          {failing, restarting, updating, deprovisioning},
	failing:        {failed, provisioning, restarting, updating, deprovisioning},
	failed:         {provisioning, restarting, updating, deprovisioning},
	restarting:     {ready, failed, deprovisioning},
	updating:       {ready, failed, deprovisioning},
	deprovisioning: {gone},
	gone:           {provisioning, none},
}

func (p *past) put(key string, value []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lease, ok := strings.CutPrefix(key, "leases/"); ok {
		var next moment
		if err := json.Unmarshal(value, &next); err != nil {
			p.wrong = append(p.wrong, err.Error())
		}
		if next.Gone {
			next.Status = gone
		}
		p.step(lease, next)
	}
}

func (p *past) delete(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lease, ok := strings.CutPrefix(key, "leases/"); ok {
		p.step(lease, moment{})
	}
}

func (p *past) step(lease string, next moment) {
	if p.last == nil {
		p.last, p.calls, p.seen = map[string]moment{}, map[string][]backend.CallbackStatus{}, map[backend.ProvisionStatus]int{}
		p.ever, p.lived = map[id.ID]bool{}, map[string]bool{}
	}
	for _, one := range next.Workloads {
		p.ever[one.Instance] = true
	}
	before := p.last[lease]
	p.last[lease] = next
	if before.Status == next.Status {
		return
	}
	p.seen[next.Status]++
	switch {
	case next.Status == ready:
		p.lived[lease] = true
	case before.Status == none, before.Status == gone:
		delete(p.lived, lease)
	}
	if !slices.Contains(table[before.Status], next.Status) {
		p.wrong = append(p.wrong, fmt.Sprintf("lease %s went from %q to %q", lease, before.Status, next.Status))
	}
	if before.Status == gone && next.Status == provisioning && before.Life == next.Life {
		p.wrong = append(p.wrong, "lease "+lease+" lives its life again")
	}
	switch {
	case next.Status == ready && next.Reason == "":
		if next.FailCount != 0 {
			p.wrong = append(p.wrong, fmt.Sprintf("lease %s succeeded, and its count is %d", lease, next.FailCount))
		}
		p.calls[lease] = append(p.calls[lease], backend.CallbackStatusSuccess)
	case next.Status == ready, next.Status == failed:
		want := before.FailCount
		if next.Status == failed {
			want++
		}
		if next.FailCount != want {
			p.wrong = append(p.wrong, fmt.Sprintf("lease %s is %s, and its count went from %d to %d", lease, next.Status, before.FailCount, next.FailCount))
		}
		p.calls[lease] = append(p.calls[lease], backend.CallbackStatusFailed)
	case next.Status == gone:
		p.calls[lease] = append(p.calls[lease], backend.CallbackStatusDeprovisioned)
	}
}

// of is what a lease should have sent.
func (p *past) of(lease string) []backend.CallbackStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls[lease])
}

// served reports whether a lease was ready in this life.
func (p *past) served(lease string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lived[lease]
}

// blame notes something else that is wrong.
func (p *past) blame(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, what)
}

// everSeen is every workload that a row ever had.
func (p *past) everSeen() []id.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.ever))
}

// faults is what was wrong.
func (p *past) faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.wrong)
}
