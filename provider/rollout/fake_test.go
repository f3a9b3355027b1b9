package rollout

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// fake is a provider whose releases need two passes. An image that contains
// "broken" makes a release fail at the second, one with "slow" never gets anywhere.
type fake struct {
	mu        sync.Mutex
	caps      []provider.Capability
	instances map[id.ID]*fakeInstance
	calls     []string
	// mended lets "broken" releases work.
	mended bool
	// answer, when not nil, is asked before every call and may refuse it.
	answer func(call string) error
}

type fakeInstance struct {
	request  provider.ProvisionRequest
	releases map[id.ID][]provider.ServiceSpec
	target   id.ID
	serving  id.ID
	requests map[id.ID][]provider.ServiceDeploySpec
	served   map[id.ID]bool
	passes   int
	failed   bool
	stopped  bool
	scaled   provider.ResourceSpec
	strategy string
}

func newFake() *fake {
	return &fake{
		caps: []provider.Capability{
			provider.CapProvision, provider.CapDeploy, provider.CapScale, provider.CapRolling, provider.CapBlueGreen,
		},
		instances: map[id.ID]*fakeInstance{},
	}
}

var (
	_ provider.Provider = (*fake)(nil)
	_ provider.Stepper  = (*fake)(nil)
)

// enter begins a call; the lock is held when it succeeds.
func (f *fake) enter(ctx context.Context, call string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	if f.answer != nil {
		if err := f.answer(call); err != nil {
			f.mu.Unlock()
			return err
		}
	}
	if call != "status" && call != "step" {
		f.calls = append(f.calls, call)
	}
	return nil
}

func (f *fake) instance(instance id.ID) (*fakeInstance, error) {
	if in := f.instances[instance]; in != nil {
		return in, nil
	}
	return nil, fmt.Errorf("%w: instance %s", provider.ErrNotFound, instance)
}

func (in *fakeInstance) pursue(release id.ID) {
	if in.target == release && !in.failed {
		return
	}
	in.target, in.passes, in.failed = release, 0, false
}

func (in *fakeInstance) images() string {
	var images []string
	for _, s := range in.releases[in.target] {
		images = append(images, s.Image)
	}
	return strings.Join(images, " ")
}

func (f *fake) Info() provider.ProviderInfo { return provider.ProviderInfo{Name: "fake"} }

func (f *fake) Capabilities() []provider.Capability { return slices.Clone(f.caps) }

func (f *fake) Provision(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
	if err := f.enter(ctx, "provision"); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	if in := f.instances[req.InstanceID]; in != nil {
		if !reflect.DeepEqual(in.request, req) {
			return nil, fmt.Errorf("%w: another request", provider.ErrConflict)
		}
		in.pursue(in.target)
		return &provider.ProvisionResult{ProviderRef: "fake"}, nil
	}
	f.instances[req.InstanceID] = &fakeInstance{
		request: req, target: req.InitialRelease(), served: map[id.ID]bool{},
		requests: map[id.ID][]provider.ServiceDeploySpec{},
		releases: map[id.ID][]provider.ServiceSpec{req.InitialRelease(): provider.CloneServices(req.Services)},
	}
	return &provider.ProvisionResult{ProviderRef: "fake"}, nil
}

func (f *fake) Deprovision(ctx context.Context, instance id.ID) error {
	if err := f.enter(ctx, "deprovision"); err != nil {
		return err
	}
	defer f.mu.Unlock()
	delete(f.instances, instance)
	return nil
}

func (f *fake) Deploy(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
	if err := f.enter(ctx, "deploy"); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	in, err := f.instance(req.InstanceID)
	if err != nil {
		return nil, err
	}
	base := in.serving
	if base.IsNil() {
		base = in.request.InitialRelease()
	}
	next, err := provider.ApplyDeploy(in.request.Kind, in.releases[base], req.Services)
	if err != nil {
		return nil, err
	}
	if _, ok := in.releases[req.ReleaseID]; ok {
		if !reflect.DeepEqual(in.requests[req.ReleaseID], req.Services) {
			return nil, fmt.Errorf("%w: release %s has other services", provider.ErrConflict, req.ReleaseID)
		}
		return &provider.DeployResult{ProviderRef: "fake", Status: provider.DeployAccepted}, nil // a repetition
	}
	if in.target != in.serving && !in.failed {
		return nil, fmt.Errorf("%w: of release %s", provider.ErrBusy, in.target)
	}
	in.requests[req.ReleaseID] = req.Services
	in.releases[req.ReleaseID], in.strategy = next, req.Strategy
	in.pursue(req.ReleaseID)
	return &provider.DeployResult{ProviderRef: "fake", Status: provider.DeployAccepted}, nil
}

func (f *fake) Rollback(ctx context.Context, instance, release id.ID) error {
	if err := f.enter(ctx, "rollback"); err != nil {
		return err
	}
	defer f.mu.Unlock()
	in, err := f.instance(instance)
	if err != nil {
		return err
	}
	if _, ok := in.releases[release]; !ok {
		return fmt.Errorf("%w: release %s", provider.ErrNotFound, release)
	}
	if in.target != release && in.serving != release && !in.served[release] {
		return fmt.Errorf("%w: release %s never served", provider.ErrConflict, release)
	}
	in.scaled = provider.ResourceSpec{}
	in.pursue(release)
	return nil
}

func (f *fake) Scale(ctx context.Context, instance id.ID, size provider.ResourceSpec) error {
	if err := f.enter(ctx, "scale"); err != nil {
		return err
	}
	defer f.mu.Unlock()
	in, err := f.instance(instance)
	if err == nil {
		in.scaled = size
	}
	return err
}

func (f *fake) Step(ctx context.Context, instance id.ID) (time.Duration, error) {
	if err := f.enter(ctx, "step"); err != nil {
		return 0, err
	}
	defer f.mu.Unlock()
	in, err := f.instance(instance)
	if err != nil {
		return 0, err
	}
	if in.failed || in.serving == in.target {
		return 0, nil
	}
	in.passes++
	switch images := in.images(); {
	case strings.Contains(images, "slow"):
	case strings.Contains(images, "broken") && in.passes > 1 && !f.mended:
		in.failed = true
		return 0, nil
	case in.passes > 1:
		in.serving, in.served[in.target] = in.target, true
		return 0, nil
	}
	return 200 * time.Millisecond, nil
}

func (f *fake) Status(ctx context.Context, instance id.ID) (*provider.InstanceStatus, error) {
	if err := f.enter(ctx, "status"); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	in, err := f.instance(instance)
	if err != nil {
		return nil, err
	}
	st := &provider.InstanceStatus{
		State: provider.StateStarting, Reason: provider.ReasonRollingOut, ReleaseID: in.serving, TargetReleaseID: in.target,
		Available: !in.serving.IsNil(), Services: map[string]provider.ServiceStatus{},
	}
	switch {
	case in.stopped:
		st.State, st.Reason = provider.StateStopped, provider.ReasonStopped
	case in.failed:
		st.State, st.Reason, st.Message = provider.StateFailed, provider.ReasonRolloutFailed, "exit code 3"
	case in.serving == in.target:
		st.State, st.Reason, st.Ready = provider.StateRunning, "", true
	}
	for _, s := range in.releases[in.target] {
		st.Services[s.Name] = provider.ServiceStatus{State: st.State, Ready: st.Ready}
	}
	return st, nil
}

func (f *fake) Start(context.Context, id.ID) error   { return provider.ErrNotSupported }
func (f *fake) Stop(context.Context, id.ID) error    { return provider.ErrNotSupported }
func (f *fake) Restart(context.Context, id.ID) error { return provider.ErrNotSupported }

func (f *fake) Resources(context.Context, id.ID) (*provider.ResourceUsage, error) {
	return nil, provider.ErrNotSupported
}

func (f *fake) Logs(context.Context, id.ID, provider.LogOptions) (io.ReadCloser, error) {
	return nil, provider.ErrNotSupported
}

func (f *fake) Exec(context.Context, id.ID, provider.ExecRequest) (*provider.ExecResult, error) {
	return nil, provider.ErrNotSupported
}

// memStore is a StateStore that is gone with the test.
type memStore struct {
	mu      sync.Mutex
	records map[string]provider.Record
	writes  int
	// refuse, when not nil, may fail a write before its effect.
	refuse func() error
	// watch sees every write, with what was there before.
	watch func(key string, before, after []byte)
}

var _ provider.StateStore = (*memStore)(nil)

func newMemStore() *memStore { return &memStore{records: map[string]provider.Record{}} }

func (s *memStore) Get(_ context.Context, key string) (provider.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, ok := s.records[key]
	if !ok {
		return rec, fmt.Errorf("%w: record %q", provider.ErrNotFound, key)
	}
	rec.Value = slices.Clone(rec.Value)
	return rec, nil
}

func (s *memStore) Put(_ context.Context, key string, value []byte, prior provider.Version) (provider.Version, error) {
	if err := provider.CheckKey(key); err != nil {
		return "", err
	}
	if err := provider.CheckValue(value); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.records[key]
	if before.Version != prior {
		return "", fmt.Errorf("%w: record %q", provider.ErrConflict, key)
	}
	if s.refuse != nil {
		if err := s.refuse(); err != nil {
			return "", err
		}
	}
	if s.watch != nil {
		s.watch(key, before.Value, value)
	}
	s.writes++
	version := provider.Version(fmt.Sprint(s.writes))
	s.records[key] = provider.Record{Value: slices.Clone(value), Version: version}
	return version, nil
}

func (s *memStore) Delete(_ context.Context, key string, prior provider.Version) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, ok := s.records[key]
	if !ok {
		return fmt.Errorf("%w: record %q", provider.ErrNotFound, key)
	}
	if rec.Version != prior {
		return fmt.Errorf("%w: record %q", provider.ErrConflict, key)
	}
	delete(s.records, key)
	return nil
}

func (s *memStore) List(_ context.Context, prefix string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.records {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
