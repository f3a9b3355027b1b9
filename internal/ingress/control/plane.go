package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/proxy"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

// owners are all that may push.
var owners = []table.Owner{table.OwnerServer, table.OwnerBackend}

// Saver keeps tables durably; internal/ingress/store is one.
type Saver interface {
	Save(table.Table) error
	Load(...table.Owner) ([]table.Table, error)
}

// Traffic is the proxy as far as the plane needs it.
type Traffic interface {
	Swap(...proxy.Owned)
	Report() table.Report
	Changed() <-chan struct{}
	ChangeIsUrgent() bool
	Seen()
	// Touch has the report sent again: something beside the traffic changed.
	Touch()
}

var _ Traffic = (*proxy.Proxy)(nil)

// Plane is the state of the data plane as its owners see it.
type Plane struct {
	log     *slog.Logger
	saver   Saver
	traffic Traffic
	hello   table.Hello
	bootID  string

	mu    sync.Mutex // held over a whole push: one at a time
	owned map[table.Owner]*owned

	cluster cluster

	frozen    bool                 // handing over: no pushes
	inherited []table.TargetReport // in flight in the process before this one
	since     time.Time            // of the takeover
}

// owned is one owner's table in use.
type owned struct {
	table table.Table
	body  []byte // normalized, for comparing
	hold  bool   // from before this boot, and not pushed again yet
}

// NewPlane loads the stored tables and puts them into use. A table that was
// written under another boot id is loaded, but its requests are held until its
// owner pushes. A damaged file is logged and its owner's routes are missing
// until the next push.
func NewPlane(log *slog.Logger, saver Saver, traffic Traffic, hello table.Hello, bootID string) *Plane {
	p := &Plane{log: log, saver: saver, traffic: traffic, hello: hello, bootID: bootID, owned: map[table.Owner]*owned{}}
	tables, err := saver.Load(owners...)
	if err != nil {
		log.Error("a stored route table cannot be used; its routes are missing until their owner pushes", "error", err)
	}
	for _, t := range tables {
		if err := t.CheckMerge(p.tablesLocked()...); err != nil {
			log.Error("a stored route table contradicts another one", "owner", t.Owner, "error", err)
			continue
		}
		body, err := json.Marshal(t)
		if err != nil {
			log.Error("a stored route table cannot be encoded", "owner", t.Owner, "error", err)
			continue
		}
		hold := bootID == "" || t.BootID != bootID
		p.owned[t.Owner] = &owned{table: t, body: body, hold: hold}
		log.Info("serving the stored route table", "owner", t.Owner, "version", t.Version, "routes", len(t.Routes), "held_until_pushed", hold)
	}
	p.swapLocked()
	return p
}

// Hello identifies this process.
func (p *Plane) Hello() table.Hello { return p.hello }

// Push makes t its owner's table: durable, then in use. The same version with
// the same content is acknowledged again. Errors wrap the sentinels of package
// table; any other means that the table could not be saved, and then the old
// one stays in use.
func (p *Plane) Push(t table.Table) (table.Ack, error) {
	t.Normalize()
	if err := t.Validate(); err != nil {
		return table.Ack{}, err
	}
	body, err := json.Marshal(t)
	if err != nil {
		return table.Ack{}, fmt.Errorf("encode the table: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen {
		return table.Ack{}, errHandingOver
	}
	ack := table.Ack{Epoch: p.hello.Epoch, Owner: t.Owner, Version: t.Version}
	if have := p.owned[t.Owner]; have != nil {
		switch {
		case t.Version < have.table.Version:
			return table.Ack{}, fmt.Errorf("%w: pushed version %d of owner %q, in use is %d", table.ErrOldVersion, t.Version, t.Owner, have.table.Version)
		case t.Version == have.table.Version && !bytes.Equal(body, have.body):
			if !have.sameRoutes(t) {
				return table.Ack{}, fmt.Errorf("%w: version %d of owner %q is in use with other routes; a changed table needs a higher version", table.ErrSameVersion, t.Version, t.Owner)
			}
		case t.Version == have.table.Version && !have.hold:
			return ack, nil
		}
	}
	if err := t.CheckMerge(p.tablesLocked()...); err != nil {
		return table.Ack{}, err
	}
	if err := p.saver.Save(t); err != nil {
		return table.Ack{}, fmt.Errorf("the table of owner %q was not taken, it could not be saved: %w", t.Owner, err)
	}
	p.owned[t.Owner] = &owned{table: t, body: body}
	p.swapLocked()
	p.log.Info("route table in use", "owner", t.Owner, "version", t.Version, "routes", len(t.Routes))
	return ack, nil
}

// sameRoutes says that t differs at most in when it was seen: after a reboot
// an owner pushes its unchanged table with the new boot id.
func (o *owned) sameRoutes(t table.Table) bool {
	t.BootID, t.EngineStart = o.table.BootID, o.table.EngineStart
	body, err := json.Marshal(t)
	return err == nil && bytes.Equal(body, o.body)
}

func (p *Plane) tablesLocked() []table.Table {
	ts := make([]table.Table, 0, len(p.owned))
	for _, o := range p.owned {
		ts = append(ts, o.table)
	}
	return ts
}

func (p *Plane) swapLocked() {
	all := make([]proxy.Owned, 0, len(p.owned))
	for _, o := range p.owned {
		all = append(all, proxy.Owned{Table: o.table, Hold: o.hold})
	}
	p.traffic.Swap(all...)
}

// Report is the report of now. Its targets are never older than its versions.
func (p *Plane) Report() table.Report {
	versions := make(map[table.Owner]int64, len(owners))
	p.mu.Lock()
	for o, t := range p.owned {
		versions[o] = t.table.Version
	}
	p.mu.Unlock()
	rep := p.traffic.Report()
	rep.Epoch, rep.Versions, rep.Cluster = p.hello.Epoch, versions, p.clusterReport()
	p.addInherited(&rep)
	return rep
}

// freeze refuses pushes from now on; false when that is so already.
func (p *Plane) freeze() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.frozen
	p.frozen = true
	return !was
}

func (p *Plane) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = false
}

// Inherit notes what the process before this one still has in flight; it counts
// in every report, so that its targets are not taken for drained.
func (p *Plane) Inherit(busy []table.TargetReport, now time.Time) {
	p.mu.Lock()
	p.inherited = busy
	if p.since.IsZero() {
		p.since = now
	}
	p.mu.Unlock()
	p.traffic.Touch()
}

func (p *Plane) addInherited(rep *table.Report) {
	p.mu.Lock()
	inherited, since := p.inherited, p.since
	p.mu.Unlock()
	for _, in := range inherited {
		i := slices.IndexFunc(rep.Targets, func(t table.TargetReport) bool { return t.ID == in.ID })
		if i >= 0 {
			rep.Targets[i].InFlight += in.InFlight
			continue
		}
		// It is in no table any more, whatever it was to the old process.
		if in.Draining = true; in.DrainingSince.IsZero() {
			in.DrainingSince = since
		}
		rep.Targets = append(rep.Targets, in)
	}
}
