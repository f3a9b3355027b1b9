package shard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/storage"
)

// The failures of what is asked, beside those of package instances.
var (
	// ErrTooManyAsks: so much is asked for and not done yet that no more is taken.
	ErrTooManyAsks = errors.New("too much is asked for and not done yet")
	// ErrAmbiguous: several groups have the name, of several tenants.
	ErrAmbiguous = errors.New("several tenants have a group of that name")
)

// missing is an absence in words for people.
type missing struct {
	text string
	is   error
}

func (m missing) Error() string { return m.text }
func (m missing) Unwrap() error { return m.is }

func noMachine(instanceID string) error {
	return missing{"there is no machine " + instanceID, instances.ErrInstanceNotFound}
}

// errAsk is an ask that this program cannot read. It keeps nothing else from being done.
var errAsk = errors.New("what is asked cannot be read")

// verb is what is asked of a machine.
type verb string

const (
	verbCreate verb = "create"
	verbDelete verb = "delete"
	verbRotate verb = "rotate"
)

// ask is what somebody asked for, as it is kept until it is done: whoever asks is answered
// at once, and the leader does it, whichever process that is by then.
type ask struct {
	Schema  int       `json:"schema"`
	Verb    verb      `json:"verb"`
	ID      string    `json:"instance_id"`
	Tenant  string    `json:"tenant"`
	Group   string    `json:"group"`
	By      string    `json:"by,omitempty"` // for people
	AskedAt time.Time `json:"asked_at"`

	// Vars and OnDemand are of a create, Force of a delete.
	Vars     map[string]string `json:"vars,omitempty"`
	OnDemand bool              `json:"on_demand,omitempty"`
	Force    bool              `json:"force,omitempty"`

	// Refused says why it will never be done, RefusedAt since when.
	Refused   string    `json:"refused,omitempty"`
	RefusedAt time.Time `json:"refused_at,omitzero"`

	tag string
}

const (
	askSchema = 1
	askPrefix = "ask/"
	// maxAsks bounds what is asked for at once: two groups of the largest size.
	maxAsks = 2000
	// askTimeout bounds what a request does with the store.
	askTimeout = 10 * time.Second
)

func (a *ask) request() instances.CreateInstanceRequest {
	return instances.CreateInstanceRequest{InstanceID: a.ID, Tenant: a.Tenant, Group: a.Group, Vars: a.Vars, OnDemand: a.OnDemand}
}

func askObject(instanceID string) (string, error) {
	key, err := instances.StorageKey(instanceID)
	if err != nil {
		return "", fmt.Errorf("%w: %w", instances.ErrInvalidRequest, err)
	}
	return askPrefix + key + ".json", nil
}

// putAsk keeps an ask in the place of the one with its tag.
func (s *Shard) putAsk(ctx context.Context, a *ask) error {
	key, err := askObject(a.ID)
	if err != nil {
		return err
	}
	a.Schema = askSchema
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	a.tag, err = s.objects.PutIfMatch(ctx, key, append(data, '\n'), a.tag)
	return err
}

// readAsk is what is asked of a machine; nil is nothing.
func (s *Shard) readAsk(ctx context.Context, instanceID string) (*ask, error) {
	key, err := askObject(instanceID)
	if err != nil {
		return nil, err
	}
	data, tag, err := s.objects.Get(ctx, key)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil //nolint:nilnil // nothing is asked
	}
	if err != nil {
		return nil, fmt.Errorf("read what is asked of %s: %w", instanceID, err)
	}
	a := ask{tag: tag}
	if err := json.Unmarshal(data, &a); err != nil || a.ID != instanceID || a.Schema > askSchema {
		return nil, fmt.Errorf("%w: that of machine %s; remove the object %s", errAsk, instanceID, key)
	}
	return &a, nil
}

func (s *Shard) dropAsk(ctx context.Context, a *ask) error {
	key, err := askObject(a.ID)
	if err != nil {
		return err
	}
	err = s.objects.DeleteIfMatch(ctx, key, a.tag)
	if errors.Is(err, storage.ErrPrecondition) {
		return nil // something else is asked by now
	}
	return err
}

// askIDs are the machines of which something is asked.
func (s *Shard) askIDs(ctx context.Context) ([]string, error) {
	all, err := s.objects.List(ctx, askPrefix)
	if err != nil {
		return nil, fmt.Errorf("list what is asked: %w", err)
	}
	var ids []string
	for _, object := range all {
		name, _ := strings.CutSuffix(strings.TrimPrefix(object.Key, askPrefix), ".json")
		if one, err := instances.ParseStorageKey(name); err == nil {
			ids = append(ids, one)
		}
	}
	return ids, nil
}

// asksAtOnce is how many asks are written at once.
const asksAtOnce = 32

// submit keeps asks, each over whatever was asked of its machine before.
func (s *Shard) submit(ctx context.Context, asks ...*ask) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ids, err := s.askIDs(ctx)
	if err != nil {
		return err
	}
	if len(ids)+len(asks) > maxAsks {
		return fmt.Errorf("%w: %d, and %d are the most", ErrTooManyAsks, len(ids), maxAsks)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(asksAtOnce)
	for _, a := range asks {
		group.Go(func() error { return s.submitOne(ctx, a) })
	}
	return group.Wait()
}

func (s *Shard) submitOne(ctx context.Context, a *ask) error {
	a.AskedAt = s.opts.Now().UTC()
	for range 5 {
		err := s.putAsk(ctx, a)
		if errors.Is(err, storage.ErrPrecondition) {
			before, err := s.readAsk(ctx, a.ID)
			if err != nil {
				return err
			}
			if a.tag = ""; before != nil {
				a.tag = before.tag
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("keep what is asked of %s: %w", a.ID, err)
		}
		s.note(a.ID, "asked", askedText(a))
		if t := s.turn.Load(); t != nil {
			t.engine.Enqueue(askKey(a.ID))
		}
		return nil
	}
	return fmt.Errorf("keep what is asked of %s: %w", a.ID, instances.ErrContended)
}

func askedText(a *ask) string {
	text := string(a.Verb)
	if a.Force {
		text += ", whatever is on it"
	}
	if a.By != "" {
		text += ", by " + a.By
	}
	return text
}

// CreateRequest is a machine that somebody wants.
type CreateRequest struct {
	Tenant string // may be empty when one tenant alone has the group
	Group  string
	Vars   map[string]string
	// OnDemand: it is not counted in its group's size, and never replaced.
	OnDemand bool
	By       string // who asks, for people
}

// Create asks for a machine and answers with the id that it will have. Errors:
// config.ErrGroupNotFound, ErrAmbiguous, config.ErrInvalid, instances.ErrMissing,
// ErrTooManyAsks.
func (s *Shard) Create(ctx context.Context, req CreateRequest) (tenant, instanceID string, err error) {
	key, err := s.groupNamed(req.Tenant, req.Group)
	if err != nil {
		return "", "", err
	}
	merged, err := s.opts.Loader.Merge(config.MergeRequest{Tenant: key.Tenant, Group: key.Group, Vars: req.Vars})
	if err != nil {
		return "", "", err
	}
	if missing := merged.MissingVars(); len(missing) > 0 {
		return "", "", fmt.Errorf("%w: variable %s", instances.ErrMissing, strings.Join(missing, ", "))
	}
	a := &ask{
		Verb: verbCreate, ID: s.ids.New(merged.Kind).String(), Tenant: key.Tenant, Group: key.Group,
		Vars: req.Vars, OnDemand: req.OnDemand, By: req.By,
	}
	return key.Tenant, a.ID, s.submit(ctx, a)
}

// groupNamed is the group of a tenant, or the only one of that name.
func (s *Shard) groupNamed(tenant, name string) (config.GroupKey, error) {
	key := config.GroupKey{Tenant: tenant, Group: name}
	if tenant != "" {
		_, err := s.opts.Loader.Group(key)
		return key, err
	}
	conf := s.opts.Loader.Current()
	if conf == nil {
		return key, config.ErrNotLoaded
	}
	var tenants []string
	for _, one := range conf.GroupKeys() {
		if one.Group == name {
			tenants = append(tenants, one.Tenant)
		}
	}
	switch len(tenants) {
	case 1:
		return config.GroupKey{Tenant: tenants[0], Group: name}, nil
	case 0:
		if _, err := s.opts.Loader.Group(key); !errors.Is(err, config.ErrGroupNotFound) {
			return key, err // what could not be read may have it
		}
		return key, missing{fmt.Sprintf("no tenant has a group %q", name), config.ErrGroupNotFound}
	}
	return key, fmt.Errorf("%w: %s", ErrAmbiguous, strings.Join(tenants, ", "))
}

// Delete asks for the end of a machine: it is drained, and then it goes. One that holds
// what would be lost is refused, with force it goes at once. Errors:
// instances.ErrInstanceNotFound, ErrTooManyAsks.
func (s *Shard) Delete(ctx context.Context, instanceID string, force bool, by string) error {
	row, err := s.lookUp(ctx, instanceID)
	if err != nil {
		return err
	}
	return s.submit(ctx, &ask{Verb: verbDelete, ID: row.ID, Tenant: row.Tenant, Group: row.Group, Force: force, By: by})
}

// Rotate asks for the replacement of a machine: another one is made, and when that is
// there, it is drained and goes. Errors: instances.ErrInstanceNotFound,
// instances.ErrInvalidRequest for one on demand, ErrTooManyAsks.
func (s *Shard) Rotate(ctx context.Context, instanceID, by string) error {
	row, err := s.lookUp(ctx, instanceID)
	if err != nil {
		return err
	}
	if row.OnDemand {
		return fmt.Errorf("%w: %s was made on demand, and nothing replaces it", instances.ErrInvalidRequest, row.ID)
	}
	return s.submit(ctx, &ask{Verb: verbRotate, ID: row.ID, Tenant: row.Tenant, Group: row.Group, By: by})
}

// RotateGroup asks for the replacement of all machines of a group, one after another, and
// returns their ids.
func (s *Shard) RotateGroup(ctx context.Context, tenant, name, by string) ([]string, error) {
	if err := s.leading(); err != nil {
		return nil, err
	}
	key, err := s.groupNamed(tenant, name)
	if err != nil {
		return nil, err
	}
	no := false
	rows, err := s.db.Instances(ctx, localdb.Query{Tenant: key.Tenant, Group: key.Group, OnDemand: &no})
	if err != nil {
		return nil, err
	}
	var ids []string
	var all []*ask
	for i := range rows {
		if statusOf(&rows[i], false, false) == StatusDeleting {
			continue
		}
		all = append(all, &ask{Verb: verbRotate, ID: rows[i].ID, Tenant: key.Tenant, Group: key.Group, By: by})
		ids = append(ids, rows[i].ID)
	}
	return ids, s.submit(ctx, all...)
}

// lookUp is the row of a machine that is not gone.
func (s *Shard) lookUp(ctx context.Context, instanceID string) (localdb.Instance, error) {
	if err := s.leading(); err != nil {
		return localdb.Instance{}, err
	}
	if _, err := id.Parse(instanceID); err != nil {
		return localdb.Instance{}, noMachine(instanceID)
	}
	row, err := s.db.Instance(ctx, instanceID)
	switch {
	case errors.Is(err, localdb.ErrNotFound):
		if a, read := s.readAsk(ctx, instanceID); a != nil || read != nil { // not begun
			if read == nil {
				row = localdb.Instance{ID: a.ID, Tenant: a.Tenant, Group: a.Group, OnDemand: a.OnDemand}
			}
			return row, read
		}
		return row, noMachine(instanceID)
	case err == nil && !row.DeletedAt.IsZero():
		return row, missing{"machine " + instanceID + " is gone already", instances.ErrInstanceNotFound}
	}
	return row, err
}
