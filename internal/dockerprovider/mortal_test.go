package dockerprovider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// errStruck is what an effect fails with that a killer struck: whoever is asked
// did not answer.
var errStruck = fmt.Errorf("it was struck: %w", errors.Join(docker.ErrUnavailable, provider.ErrUnavailable))

// killer strikes one effect of a process, before it or after it: the process
// dies of that, or lives on with an error.
type killer struct {
	mu    sync.Mutex
	left  int // effects until then
	after bool
	lives bool
	dead  bool
	hit   bool
	seen  int
}

// effect performs an effect, unless the killer strikes or has killed.
func (k *killer) effect(do func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return errStruck
	}
	k.seen++
	k.left--
	if k.left != 0 {
		return do()
	}
	k.hit, k.dead = true, !k.lives
	if k.after {
		_ = do() // nobody hears how it went
	}
	return errStruck
}

// aim makes the killer strike another effect, counted from now on; 0 is none.
func (k *killer) aim(left int, after, lives bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.after, k.lives, k.hit = left, after, lives, false
}

// struck reports whether it has struck since it was aimed, and makes it strike
// no more.
func (k *killer) struck() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left = 0
	return k.hit
}

func (k *killer) alive() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return errStruck
	}
	return nil
}

// mortalEngine is an engine as a process sees it that may die.
type mortalEngine struct {
	docker.Runtime
	k *killer
}

func (m mortalEngine) Create(ctx context.Context, spec docker.ContainerSpec) (made string, err error) {
	err = m.k.effect(func() (err error) { made, err = m.Runtime.Create(ctx, spec); return err })
	return made, err
}

func (m mortalEngine) Start(ctx context.Context, c string) error {
	return m.k.effect(func() error { return m.Runtime.Start(ctx, c) })
}

func (m mortalEngine) Stop(ctx context.Context, c string, grace time.Duration) error {
	return m.k.effect(func() error { return m.Runtime.Stop(ctx, c, grace) })
}

func (m mortalEngine) Remove(ctx context.Context, c string) error {
	return m.k.effect(func() error { return m.Runtime.Remove(ctx, c) })
}

func (m mortalEngine) Update(ctx context.Context, c string, u docker.ContainerUpdate) error {
	return m.k.effect(func() error { return m.Runtime.Update(ctx, c, u) })
}

func (m mortalEngine) CopyInto(ctx context.Context, c, dir string, files []docker.File) error {
	return m.k.effect(func() error { return m.Runtime.CopyInto(ctx, c, dir, files) })
}

func (m mortalEngine) EnsureVolume(ctx context.Context, spec docker.VolumeSpec) error {
	return m.k.effect(func() error { return m.Runtime.EnsureVolume(ctx, spec) })
}

func (m mortalEngine) RemoveVolume(ctx context.Context, name string) error {
	return m.k.effect(func() error { return m.Runtime.RemoveVolume(ctx, name) })
}

func (m mortalEngine) CreateNetwork(ctx context.Context, spec docker.NetworkSpec) (made string, err error) {
	err = m.k.effect(func() (err error) { made, err = m.Runtime.CreateNetwork(ctx, spec); return err })
	return made, err
}

func (m mortalEngine) RemoveNetwork(ctx context.Context, n string) error {
	return m.k.effect(func() error { return m.Runtime.RemoveNetwork(ctx, n) })
}

func (m mortalEngine) List(ctx context.Context, labels map[string]string) ([]docker.ContainerState, error) {
	if err := m.k.alive(); err != nil {
		return nil, err
	}
	return m.Runtime.List(ctx, labels)
}

// mortalState is a store of records likewise.
type mortalState struct {
	provider.StateStore
	k *killer
}

func (m mortalState) Put(ctx context.Context, key string, value []byte, prior provider.Version) (v provider.Version, err error) {
	err = m.k.effect(func() (err error) { v, err = m.StateStore.Put(ctx, key, value, prior); return err })
	return v, err
}

func (m mortalState) Delete(ctx context.Context, key string, prior provider.Version) error {
	return m.k.effect(func() error { return m.StateStore.Delete(ctx, key, prior) })
}

func (m mortalState) Get(ctx context.Context, key string) (provider.Record, error) {
	if err := m.k.alive(); err != nil {
		return provider.Record{}, err
	}
	return m.StateStore.Get(ctx, key)
}

// mortalVault is a vault likewise.
type mortalVault struct {
	secrets.Vault
	k *killer
}

func (m mortalVault) Put(ctx context.Context, ref secrets.Ref, s secrets.Secret) (v secrets.Version, err error) {
	err = m.k.effect(func() (err error) { v, err = m.Vault.Put(ctx, ref, s); return err })
	return v, err
}

func (m mortalVault) Delete(ctx context.Context, ref secrets.Ref) error {
	return m.k.effect(func() error { return m.Vault.Delete(ctx, ref) })
}
