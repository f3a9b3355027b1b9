package instances

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/storage"
)

// CreateInstance creates a new instance using the specified group and configuration.
//
// All that can be refused is refused before anything is done. After that an error is a
// CreateError with the instance's id: ErrUnfinished says that the same request with
// that id goes on, ErrAbandoned that the machine was given up. Repeating a request with
// its id after success gives the same answer, the token included, while the machine is
// not registered. Another request with an id that is taken is ErrExists.
func (m *Manager) CreateInstance(ctx context.Context, req CreateInstanceRequest) (*CreateInstanceResponse, error) {
	if _, err := m.term(); err != nil {
		return nil, err
	}
	for _, word := range []struct{ what, value string }{{"tenant", req.Tenant}, {"group", req.Group}} {
		if err := checkName(word.what, word.value); err != nil {
			return nil, err
		}
	}
	if tenant, ok := TenantFrom(ctx); ok && tenant != req.Tenant {
		return nil, fmt.Errorf("%w: a machine for another tenant", ErrInvalidRequest)
	}
	if req.InstanceID == "" {
		r, err := m.plan(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("create instance: %w", err)
		}
		req.InstanceID = r.InstanceID
		return m.start(ctx, r)
	}
	return m.createGiven(ctx, req)
}

// createGiven goes on with an instance that has a record, or begins one with this id.
func (m *Manager) createGiven(ctx context.Context, req CreateInstanceRequest) (*CreateInstanceResponse, error) {
	release, err := m.busy.take(ctx, req.InstanceID)
	if err != nil {
		return nil, err
	}
	r, _, err := m.read(ctx, req.Tenant, req.InstanceID)
	switch {
	case err == nil && r.RequestHash != requestHash(req):
		err = fmt.Errorf("create instance %s: %w", req.InstanceID, ErrExists)
	case err == nil:
		defer release()
		return m.launch(ctx, r, true)
	case errors.Is(err, ErrInstanceNotFound):
		err = m.unused(ctx, req.InstanceID)
	}
	release()
	if err != nil {
		return nil, err
	}
	planned, err := m.plan(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("create instance: %w", err)
	}
	return m.start(ctx, planned)
}

// unused makes sure that an id from outside is nobody's: neither in a record of another
// tenant nor at the provider, where it names the machine.
func (m *Manager) unused(ctx context.Context, instanceID string) error {
	_, err := m.opts.LocalDB.Instance(ctx, instanceID)
	if err == nil {
		return fmt.Errorf("create instance %s: %w", instanceID, ErrExists)
	}
	if errors.Is(err, localdb.ErrLost) {
		m.cacheFailed(ctx, instanceID, err) // so that it is mended soon
	}
	if !errors.Is(err, localdb.ErrNotFound) {
		return fmt.Errorf("create instance %s: look for its id: %w", instanceID, err)
	}
	_, err = m.lookUp(ctx, instanceID, "")
	if err == nil {
		return fmt.Errorf("create instance %s: %w: the provider has a machine of that id", instanceID, ErrExists)
	}
	if !infra.IsNotFound(err) {
		return fmt.Errorf("create instance %s: look for its id: %w", instanceID, err)
	}
	return nil
}

// start writes the record, and makes the machine.
func (m *Manager) start(ctx context.Context, r *InstanceRecord) (*CreateInstanceResponse, error) {
	release, err := m.busy.take(ctx, r.InstanceID)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := m.begin(ctx, r); err != nil {
		if errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil {
			// Perhaps it is written. Without a machine it is given up in the end.
			err = fmt.Errorf("%w: %w", ErrUnfinished, err)
		}
		return nil, &CreateError{r.InstanceID, err}
	}
	return m.launch(ctx, r, false)
}

// launch makes the machine of a record, or finds that it is made. The instance is
// taken. again says that another call may have been before.
func (m *Manager) launch(ctx context.Context, r *InstanceRecord, again bool) (*CreateInstanceResponse, error) {
	fail := func(err error) (*CreateInstanceResponse, error) { return nil, &CreateError{r.InstanceID, err} }
	if r.State.Leaving() {
		return fail(fmt.Errorf("%w: %s", ErrAbandoned, r.DeleteReason))
	}
	token, err := m.token(r)
	if err != nil {
		return fail(err)
	}
	if r.State != StatePending {
		return answer(r, token), nil
	}
	if !m.now().Before(r.LaunchDeadline) {
		return fail(m.abandon(ctx, r, "it was not there at its launch deadline", true))
	}
	secret, err := m.secrets(ctx, r.Intent.Secrets)
	if err != nil {
		return fail(fmt.Errorf("%w: %w", ErrUnfinished, err))
	}
	told := r.told(token, secret)
	if told.Digest() != r.Intent.Digest {
		return fail(m.abandon(ctx, r, "a secret or a key changed before it was made", again))
	}
	made, err := m.make(ctx, told, r.LaunchDeadline)
	if err != nil {
		return fail(m.notMade(ctx, r, err, again))
	}
	adopted, err := m.adopt(ctx, r.Tenant, made)
	if err != nil {
		return fail(fmt.Errorf("%w: %w", ErrUnfinished, err))
	}
	if adopted.State.Leaving() {
		return fail(fmt.Errorf("%w: %s", ErrAbandoned, adopted.DeleteReason))
	}
	return answer(adopted, token), nil
}

// make calls the provider, and looks the machine up when the answer was lost.
func (m *Manager) make(ctx context.Context, told infra.CreateInstanceRequest, deadline time.Time) (*infra.Instance, error) {
	if _, err := m.term(); err != nil {
		return nil, err
	}
	timeout := m.conf().Shard.Timings.RequestTimeout.Std()
	if left := deadline.Sub(m.now()); left < timeout {
		timeout = left
	}
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	made, err := m.opts.Provider.CreateInstance(call, told)
	if err == nil && (made == nil || made.ProviderInstanceID == "") {
		err = fmt.Errorf("%w: the provider named no machine", infra.ErrAmbiguous)
	}
	if err == nil {
		return made, nil
	}
	if !infra.PerhapsCreated(err) {
		return nil, err
	}
	found, lookErr := m.lookUp(context.WithoutCancel(ctx), told.InstanceID, "")
	if lookErr == nil && isOf(found, told.Digest()) && !found.Status.Leaving() {
		return found, nil
	}
	return nil, err
}

// isOf reports whether a machine was made by the request with this digest, as far as
// its provider keeps that.
func isOf(found *infra.Instance, digest string) bool {
	tag := found.Tags[infra.TagRequest]
	return found.ProviderInstanceID != "" && (tag == "" || tag == digest)
}

// lookUp asks the provider for a machine, in its own time.
func (m *Manager) lookUp(ctx context.Context, instanceID, providerID string) (*infra.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, m.conf().Shard.Timings.RequestTimeout.Std())
	defer cancel()
	return m.opts.Provider.GetInstanceStatus(ctx, instanceID, providerID)
}

// notMade decides about a create that failed. What can never work is given up at once,
// so that it counts for nobody's group; all else waits for its launch deadline.
func (m *Manager) notMade(ctx context.Context, r *InstanceRecord, err error, again bool) error {
	if errors.Is(err, infra.ErrInvalidRequest) || errors.Is(err, infra.ErrConflict) || errors.Is(err, infra.ErrNoCapacity) {
		return errors.Join(m.abandon(ctx, r, "the provider refused it", again), err)
	}
	return fmt.Errorf("%w: %w", ErrUnfinished, err)
}

// abandon gives a create up: the record says so, the machine is removed if there is
// one. It returns ErrAbandoned, with what is left to do. Where no call was before, or
// the one that was says that it made nothing, the record is closed at once.
func (m *Manager) abandon(ctx context.Context, r *InstanceRecord, reason string, again bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.conf().Shard.Timings.RequestTimeout.Std())
	defer cancel()
	leaving, err := m.requestDelete(ctx, r.Tenant, r.InstanceID, reason, nil)
	if err == nil {
		err = m.remove(ctx, leaving, !again)
	}
	if err != nil {
		return fmt.Errorf("%w: %s; the collector goes on with it: %w", ErrAbandoned, reason, err)
	}
	return fmt.Errorf("%w: %s", ErrAbandoned, reason)
}

// adopt takes in what the provider says of a machine that is wanted.
func (m *Manager) adopt(ctx context.Context, tenant string, found *infra.Instance) (*InstanceRecord, error) {
	r, err := m.update(ctx, tenant, found.InstanceID, func(r *InstanceRecord) (bool, error) {
		before := *r
		if r.ProviderInstanceID == "" {
			r.ProviderInstanceID = found.ProviderInstanceID
		}
		if r.LaunchedAt == nil && !found.LaunchedAt.IsZero() {
			at := found.LaunchedAt.UTC()
			r.LaunchedAt = &at
		}
		if r.RegisteredAt == nil { // the agent knows its addresses better
			set(&r.PrivateIPv4, found.PrivateIPv4)
			set(&r.PrivateIPv6, found.PrivateIPv6)
			set(&r.Hostname, found.Hostname)
		}
		if !r.State.Leaving() {
			set(&r.Status, string(found.Status))
			r.setState(StateCreated)
		}
		return before.ProviderInstanceID != r.ProviderInstanceID || before.LaunchedAt != r.LaunchedAt ||
			before.PrivateIPv4 != r.PrivateIPv4 || before.PrivateIPv6 != r.PrivateIPv6 || before.Hostname != r.Hostname ||
			before.Status != r.Status || before.State != r.State, nil
	})
	if err != nil {
		return nil, err
	}
	m.seen(ctx, found)
	return r, nil
}

// set takes a value over one that is known, and nothing over nothing.
func set(to *string, value string) {
	if value != "" {
		*to = value
	}
}

func answer(r *InstanceRecord, token string) *CreateInstanceResponse {
	return &CreateInstanceResponse{
		InstanceID: r.InstanceID, Group: r.Group, Template: r.Template,
		ProviderInstanceID: r.ProviderInstanceID, Status: r.Status,
		PrivateIPv4: r.PrivateIPv4, PrivateIPv6: r.PrivateIPv6, Hostname: r.Hostname,
		CreatedAt: r.CreatedAt, RegistrationJWT: token,
	}
}
