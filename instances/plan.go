package instances

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/secrets"
	libsecrets "github.com/berth-cloud/berth/secrets"
)

// SecretPrefix is the folder of secrets that templates may require: the template's
// "db" is the secret "userdata/db". The cluster's own keys are not below it.
const SecretPrefix = "userdata/"

// unlimitedTokenLife is for shards in which machines may register whenever they like.
const unlimitedTokenLife = 24 * time.Hour

// plan decides all about a machine, and has no effect. What it returns is a record
// that is not written yet, and what the provider is to be told with secrets in it.
func (m *Manager) plan(ctx context.Context, req CreateInstanceRequest) (*InstanceRecord, error) {
	conf := m.conf()
	merged, err := conf.Merge(config.MergeRequest{
		Tenant: req.Tenant, Group: req.Group, Template: req.Template, InstanceType: req.InstanceType,
		SubnetPool: req.SubnetPool, Vars: req.Vars, Args: req.Args,
	})
	if err != nil {
		return nil, err
	}
	if missing := merged.MissingVars(); len(missing) > 0 {
		return nil, fmt.Errorf("%w: template %s needs the variables %s", ErrMissing, merged.Template, strings.Join(missing, ", "))
	}
	instanceID, err := m.instanceID(req.InstanceID, merged.Kind)
	if err != nil {
		return nil, err
	}
	images, err := m.images(conf, merged)
	if err != nil {
		return nil, err
	}
	created := m.now().Truncate(time.Millisecond)
	timings := conf.Shard.Timings
	r := &InstanceRecord{
		InstanceID: instanceID, Tenant: req.Tenant, Group: req.Group, OnDemand: req.OnDemand,
		InstanceType: merged.InstanceType, Status: string(infra.StatusPending),
		CreatedAt: created, Config: merged, Tags: maps.Clone(req.Tags),
		InfraConfigHash: merged.InfraHash, RuntimeConfigHash: merged.RuntimeHash,
		State: StatePending, Template: merged.Template, RequestHash: requestHash(req),
		LaunchDeadline: created.Add(timings.LaunchTimeout.Std()),
		Intent: Intent{
			ClusterID: m.cluster, Shard: m.shard, InstanceKind: merged.Kind, InstanceType: merged.InstanceType,
			CACertPEM: string(m.caCert()), CustomTags: maps.Clone(req.Tags), Images: images,
			Secrets: slices.Clone(merged.RequiredSecrets), Idempotency: instanceID,
			Skew: timings.ClockSkew.Std(),
		},
	}
	r.TokenExpiresAt = r.LaunchDeadline.Add(unlimitedTokenLife)
	if wait := conf.Shard.GC.RegistrationTimeout.Std(); wait > 0 {
		r.TokenExpiresAt = r.LaunchDeadline.Add(wait + r.Intent.Skew)
	}
	return r, m.fill(ctx, conf, r)
}

// fill renders what the provider is told, and chooses the subnet.
func (m *Manager) fill(ctx context.Context, conf *config.Config, r *InstanceRecord) error {
	token, err := m.token(r)
	if err != nil {
		return err
	}
	r.RegistrationJWT = TokenHash(token)
	secret, err := m.secrets(ctx, r.Intent.Secrets)
	if err != nil {
		return err
	}
	data := m.templateData(conf, r)
	args, err := renderArgs(r.Config.Args, argsData{
		data.Cluster, data.Server, data.Provider, data.Instance, data.Vars, data.Image,
	}, 0)
	if err != nil {
		return err
	}
	r.Intent.Args, _ = args.(map[string]any)
	data.Nonce, data.Secret = token, secret
	source, err := m.source(ctx, r.Config.Userdata, conf.Shard.UserdataURLs)
	if err != nil {
		return err
	}
	if r.Intent.UserData, err = freeze(source, data); err != nil {
		return err
	}
	if r.Intent.SubnetID, err = m.subnet(ctx, conf, r.Config.SubnetPool); err != nil {
		return err
	}
	told := r.told(token, secret)
	if err := told.Validate(); err != nil {
		return err
	}
	r.Intent.Digest = told.Digest()
	return nil
}

func (m *Manager) templateData(conf *config.Config, r *InstanceRecord) UserdataTemplateData {
	server, provider := conf.Shard.Server, conf.Shard.Provider
	vars := r.Config.Vars
	if vars == nil {
		vars = map[string]string{}
	}
	return UserdataTemplateData{
		Cluster: ClusterData{ID: m.cluster, CACert: r.Intent.CACertPEM},
		Server: ServerData{
			Shard: m.shard, RegistrationAddr: server.RegistrationAddr, AgentAddr: server.AgentAddr,
			OperatorAddr: server.OperatorAddr, IngressAddr: m.opts.IngressAddr,
		},
		Provider: ProviderData{Kind: provider.Kind, Region: provider.Region, Zone: provider.Zone},
		Instance: InstanceData{ID: r.InstanceID, Kind: r.Intent.InstanceKind, Arch: r.Config.Arch, Type: r.InstanceType},
		Vars:     vars, Image: r.Intent.Images,
	}
}

func (m *Manager) instanceID(given, kind string) (string, error) {
	if given == "" {
		return m.opts.IDs.New(kind).String(), nil
	}
	if _, err := id.ParseKind(given, kind); err != nil {
		return "", fmt.Errorf("%w: the instance id has to be one of kind %s: %w", ErrInvalidRequest, kind, err)
	}
	return given, nil
}

// images are those that are known, among them all that the template requires.
func (m *Manager) images(conf *config.Config, merged *config.MergedConfig) (map[string]string, error) {
	all := map[string]string{}
	if m.opts.ImageGetter != nil {
		maps.Copy(all, m.opts.ImageGetter.GetAll())
	} else {
		maps.Copy(all, fixedImages(conf.Images))
	}
	for _, name := range merged.RequiredImages {
		if all[name] == "" {
			return nil, fmt.Errorf("%w: template %s needs the image %q, for which no id is known", ErrMissing, merged.Template, name)
		}
	}
	return all, nil
}

// secrets are those that a template requires.
func (m *Manager) secrets(ctx context.Context, names []string) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range names {
		value, err := m.opts.SecretsStore.Get(ctx, SecretPrefix+name)
		if errors.Is(err, secrets.ErrNotFound) {
			return nil, fmt.Errorf("%w: the template needs the secret %q; set %s%s", ErrMissing, name, SecretPrefix, name)
		}
		if err != nil {
			return nil, err
		}
		all[name] = value.RevealString()
	}
	return all, nil
}

// subnet is the first of the pool that has room. One that cannot be asked is passed
// over, and named when there is no other.
func (m *Manager) subnet(ctx context.Context, conf *config.Config, pool string) (string, error) {
	if pool == "" {
		return "", nil
	}
	var failed error
	for _, subnet := range conf.Shard.SubnetPools[pool] {
		room, err := m.opts.Provider.CheckSubnetCapacity(ctx, subnet)
		if err == nil && room {
			return subnet, nil
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return "", fmt.Errorf("%w: pool %s: %w", ErrNoSubnet, pool, failed)
	}
	return "", fmt.Errorf("%w: pool %s", ErrNoSubnet, pool)
}

// token is made again from what the record says, byte for byte.
func (m *Manager) token(r *InstanceRecord) (string, error) {
	return m.signer.GenerateRegistrationNonce(RegistrationNonceParams{
		SubjectID: r.InstanceID, Kind: TokenKindAgent, ConfigHash: r.RuntimeConfigHash,
		ClusterID: r.Intent.ClusterID, Shard: r.Intent.Shard, Group: r.Group, OnDemand: r.OnDemand,
		Expiry: r.TokenExpiresAt.Sub(r.CreatedAt), Tenant: r.Tenant,
		IssuedAt: r.CreatedAt, Skew: r.Intent.Skew,
	})
}

// told is what the provider is told.
func (r *InstanceRecord) told(token string, secret map[string]string) infra.CreateInstanceRequest {
	i := r.Intent
	return infra.CreateInstanceRequest{
		ClusterID: i.ClusterID, Shard: i.Shard, Group: r.Group, Template: r.Template,
		InstanceKind: i.InstanceKind, InstanceID: r.InstanceID, InstanceType: i.InstanceType,
		SubnetID: i.SubnetID, CACertPEM: []byte(i.CACertPEM), Args: i.Args, CustomTags: i.CustomTags,
		IdempotencyToken: i.Idempotency,
		UserData:         libsecrets.NewSecretString(thaw(i.UserData, r.InstanceID, token, secret)),
	}
}

// requestHash tells requests apart, whatever the order of their maps.
func requestHash(req CreateInstanceRequest) string {
	req.InstanceID = ""
	if len(req.Vars) == 0 {
		req.Vars = nil
	}
	if len(req.Args) == 0 {
		req.Args = nil
	}
	if len(req.Tags) == 0 {
		req.Tags = nil
	}
	raw, err := json.Marshal(req)
	if err != nil {
		return "" // the merge refuses such arguments
	}
	sum := sha256.Sum256(raw)
	return hashPrefix + hex.EncodeToString(sum[:])
}
