package instances

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"time"

	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/wire"
)

const (
	// JoinedGroup is the group of hosts that joined. No configuration can name it, and
	// nothing that a group does is done to it.
	JoinedGroup = ".joined"
	// JoinedKind is the kind in the ids of hosts that joined.
	JoinedKind = "hst"
	// TagName is the tag with the name that a joined host was given; its other tags are
	// its labels.
	TagName = "berth.name"

	// DefaultJoinLife is how long a host has to join.
	DefaultJoinLife = 24 * time.Hour
	minJoinLife     = time.Minute

	joinedPrefix = "joined/"
)

// JoinedHost is what a record says of a machine that no provider has: a host that was
// there before.
type JoinedHost struct {
	Name string `json:"name"`
}

// JoinRequest asks that a host may join.
type JoinRequest struct {
	Tenant string
	// Name is the host's: 1 to 48 lower-case letters, digits and dashes, a letter first
	// and no dash last; of one host of the shard at a time.
	Name   string
	Labels map[string]string
	// Life is how long the host has: 1 min to 7 days, DefaultJoinLife when 0.
	Life time.Duration
}

// JoinResponse lets one host join.
type JoinResponse struct {
	InstanceID string
	Name       string
	// Token is what `berth-node join` takes. It is here and nowhere else.
	Token     string
	ExpiresAt time.Time
}

// nameClaim says whose a name is. It is there before the record, so that of two who ask
// for one name one gets it.
type nameClaim struct {
	InstanceID string    `json:"instance_id"`
	Tenant     string    `json:"tenant"`
	ClaimedAt  time.Time `json:"claimed_at"`
	Term       uint64    `json:"term"`
}

var hostName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,46}[a-z0-9])?$`)

func (r *JoinRequest) check() error {
	if err := checkName("tenant", r.Tenant); err != nil {
		return err
	}
	if !hostName.MatchString(r.Name) {
		return fmt.Errorf("%w: the name %q is not 1 to 48 lower-case letters, digits and dashes, a letter first", ErrInvalidRequest, clip(r.Name))
	}
	if _, ok := r.Labels[TagName]; ok {
		return fmt.Errorf("%w: the label %s is not one to give", ErrInvalidRequest, TagName)
	}
	if r.Life == 0 {
		r.Life = DefaultJoinLife
	}
	if r.Life < minJoinLife || r.Life > maxTokenLife {
		return fmt.Errorf("%w: a host has from %v to %v to join, not %v", ErrInvalidRequest, minJoinLife, maxTokenLife, r.Life)
	}
	return nil
}

// JoinHost writes the record of a host that is there already and makes the token by which
// it registers, once. From then on the host is an instance as any other, but that no
// provider is asked about it and no group counts, rotates or replaces it: it is there
// until DeleteInstanceFor, or until its token ends before it has registered.
//
// A name that another host has, or is to have, is ErrExists. ErrUnfinished says that the
// record is perhaps written: the same request either goes on with it or is ErrExists, and
// then the instance is to be deleted first.
func (m *Manager) JoinHost(ctx context.Context, req JoinRequest) (*JoinResponse, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	if tenant, ok := TenantFrom(ctx); ok && tenant != req.Tenant {
		return nil, fmt.Errorf("%w: a host for another tenant", ErrInvalidRequest)
	}
	if m.opts.Authority == nil {
		return nil, ErrNoAuthority
	}
	if _, err := m.term(); err != nil {
		return nil, err
	}
	what := func(err error) error { return fmt.Errorf("join host %s: %w", req.Name, err) }
	prints, err := fingerprints(m.opts.Authority.CAPEM())
	if err != nil {
		return nil, what(err)
	}
	release, err := m.busy.take(ctx, joinedPrefix+req.Name)
	if err != nil {
		return nil, what(err)
	}
	defer release()
	instanceID, err := m.claimName(ctx, req)
	if err != nil {
		return nil, what(err)
	}
	r, token, err := m.joining(req, instanceID)
	if err != nil {
		return nil, what(err)
	}
	text, err := m.joinToken(r, token, prints)
	if err != nil {
		return nil, what(err)
	}
	if err := m.begin(ctx, r); err != nil {
		if errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrUnfinished, err)
		}
		return nil, what(err)
	}
	return &JoinResponse{InstanceID: r.InstanceID, Name: req.Name, Token: text, ExpiresAt: r.TokenExpiresAt}, nil
}

// claimName takes a name, and says which instance has it. A name whose instance has no
// record was taken by somebody who came no further: the same id goes on, so that a write
// of theirs that arrives late makes no second host. The name is taken.
func (m *Manager) claimName(ctx context.Context, req JoinRequest) (instanceID string, err error) {
	key := joinedPrefix + req.Name + ".json"
	data, tag, err := m.objects.Get(ctx, key)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		instanceID = m.opts.IDs.New(JoinedKind).String()
	case err != nil:
		return "", fmt.Errorf("read the claim of a name: %w", err)
	default:
		if instanceID, err = m.heir(ctx, key, data, req); err != nil {
			return "", err
		}
	}
	term, err := m.term()
	if err != nil {
		return "", err
	}
	data, err = json.Marshal(nameClaim{InstanceID: instanceID, Tenant: req.Tenant, ClaimedAt: m.now(), Term: term})
	if err != nil {
		return "", err
	}
	_, err = m.objects.PutIfMatch(ctx, key, data, tag)
	if errors.Is(err, storage.ErrPrecondition) {
		return "", ErrContended
	}
	if err != nil {
		return "", fmt.Errorf("write the claim of a name: %w", err)
	}
	return instanceID, nil
}

// heir says which instance may have a name that was taken before.
func (m *Manager) heir(ctx context.Context, key string, data []byte, req JoinRequest) (instanceID string, err error) {
	c, err := parseNameClaim(key, data)
	if err != nil {
		return "", err
	}
	r, _, err := m.read(ctx, c.Tenant, c.InstanceID)
	switch {
	case errors.Is(err, ErrInstanceNotFound) && c.Tenant == req.Tenant:
		return c.InstanceID, nil
	case err != nil && !errors.Is(err, ErrInstanceNotFound):
		return "", err
	case err == nil && !r.State.Leaving():
		return "", fmt.Errorf("%w: %s", ErrExists, r.InstanceID)
	}
	return m.opts.IDs.New(JoinedKind).String(), nil
}

func parseNameClaim(key string, data []byte) (*nameClaim, error) {
	var c nameClaim
	if err := json.Unmarshal(data, &c); err != nil || c.InstanceID == "" || c.Tenant == "" {
		return nil, fmt.Errorf("%w: %s: the claim of a name is not readable; restore it, or remove it when no host has the name", ErrRecord, key)
	}
	return &c, nil
}

// joining is the record of a host that may join, and its registration token.
func (m *Manager) joining(req JoinRequest, instanceID string) (*InstanceRecord, string, error) {
	created := m.now().Truncate(time.Millisecond)
	tags := maps.Clone(req.Labels)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[TagName] = req.Name
	r := &InstanceRecord{
		InstanceID: instanceID, Tenant: req.Tenant, Group: JoinedGroup, OnDemand: true, Status: string(infra.StatusPending),
		CreatedAt: created, Tags: tags, Joined: &JoinedHost{Name: req.Name},
		Config: &config.MergedConfig{Tenant: req.Tenant, Group: JoinedGroup, Kind: JoinedKind},
		// There is no create that could be on its way.
		State: StateCreated, LaunchDeadline: created, RequestHash: JoinedGroup,
		TokenExpiresAt: created.Add(req.Life),
		Intent:         Intent{ClusterID: m.cluster, Shard: m.shard, InstanceKind: JoinedKind, Skew: m.skew()},
	}
	token, err := m.token(r)
	if err != nil {
		return nil, "", err
	}
	r.RegistrationJWT = TokenHash(token)
	return r, token, nil
}

func (m *Manager) joinToken(r *InstanceRecord, token string, authorities []wire.Fingerprint) (string, error) {
	server := m.conf().Shard.Server
	t := wire.JoinToken{
		ClusterID: m.cluster, Shard: m.shard, InstanceID: r.InstanceID,
		RegistrationAddr: server.RegistrationAddr, AgentAddr: server.AgentAddr, IngressAddr: m.opts.IngressAddr,
		Authorities: authorities, Token: token,
	}
	text, err := t.Text()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalidRequest, err)
	}
	return text, nil
}

// fingerprints are those of the authorities in a PEM.
func fingerprints(text []byte) ([]wire.Fingerprint, error) {
	var all []wire.Fingerprint
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("the cluster's authority: %w", err)
		}
		all = append(all, wire.FingerprintOf(c))
	}
	if len(all) == 0 {
		return nil, ErrNoAuthority
	}
	return all, nil
}
