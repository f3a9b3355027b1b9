package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/nftables"
	moby "github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/daemon/backendd"
	"github.com/berth-cloud/berth/internal/daemon/backendd/routes"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store/sqlite"
)

// settleTime bounds how long the backend may take to bury the leases that were given
// up.
const settleTime = 30 * time.Second

// listed are the leases that the backend lists.
func listed(ctx context.Context, s *stand) (out []string, err error) {
	all, err := s.holder.ListProvisions(ctx)
	for i := range all {
		out = append(out, "lease "+all[i].LeaseUUID)
	}
	return out, err
}

// retentions are the leases of which it lists that they left something.
func retentions(ctx context.Context, s *stand) (out []string, err error) {
	all, err := s.holder.ListRetentions(ctx)
	for _, one := range all {
		out = append(out, "what was retained of lease "+one.LeaseUUID)
	}
	return out, err
}

// settled waits until the backend lists none. What is there all the same is counted as
// left.
func (s *stand) settled(ctx context.Context, what string, list func(context.Context, *stand) ([]string, error)) error {
	bounded, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for {
		all, err := list(bounded, s)
		if err == nil && len(all) == 0 {
			return nil
		}
		if !pause(bounded, 100*time.Millisecond) {
			s.o.say("after %s there are still %s: %v, %v", settleTime, what, all, err)
			return ctx.Err()
		}
	}
}

// stillListed is what the backend itself has on its lists.
func (s *stand) stillListed(ctx context.Context) ([]string, error) {
	leases, err := listed(ctx, s)
	kept, err2 := retentions(ctx, s)
	return append(leases, kept...), errors.Join(err, err2)
}

// left is what there is of leases on the engine and in the store. The backend must have
// ended.
func (s *stand) left(ctx context.Context) ([]string, error) {
	st, err := sqlite.Open(ctx, sqlite.Options{Dir: s.data()})
	if err != nil {
		return nil, err
	}
	defer func() { _ = st.Close() }()
	owner, err := st.InstanceID(ctx)
	if err != nil {
		return nil, err
	}
	out, err := s.onEngine(ctx, owner)
	if err != nil {
		return out, err
	}
	keys, err := st.ListRecords(ctx, "")
	for _, key := range keys {
		value, _, err := st.GetRecord(ctx, key)
		if err != nil {
			return out, err
		}
		if !remembered(key, value) {
			out = append(out, fmt.Sprintf("record %s: %.500s", key, value))
		}
	}
	return out, err
}

// fence takes the backend's firewall away and tells what is left of it.
func (s *stand) fence(ctx context.Context) (out []string, err error) {
	owner, err := s.owner(ctx)
	if err = errors.Join(err, s.unfence(ctx)); err != nil {
		return nil, err
	}
	c, err := nftables.New()
	if err != nil {
		return nil, err
	}
	tables, err := c.ListTables()
	for _, t := range tables {
		if t.Name == backendd.FirewallTable(owner) {
			out = append(out, "firewall "+t.Name)
		}
	}
	return out, err
}

// remembered reports whether a record is what stays of the callbacks of a lease until
// the second of its last signature is over, which may be half a minute ahead of the
// clock, or outlives every lease.
func remembered(key string, value []byte) bool {
	var r struct {
		Forgotten bool `json:"forgotten"`
		Rows      []json.RawMessage
	}
	switch key {
	case routes.Record, // which number the next table has
		backendd.NetworksRecord: // which networks the backend itself has
		return true
	}
	return strings.HasPrefix(key, "callbacks/") && json.Unmarshal(value, &r) == nil && r.Forgotten && len(r.Rows) == 0
}

func ours(owner string) moby.Filters {
	return make(moby.Filters).Add("label", docker.LabelInstance+"="+owner)
}

// onEngine is what bears the backend's mark.
func (s *stand) onEngine(ctx context.Context, owner string) ([]string, error) {
	var out []string
	containers, err := s.engine.ContainerList(ctx, moby.ContainerListOptions{All: true, Filters: ours(owner)})
	for i := range containers.Items {
		out = append(out, "container "+strings.Join(containers.Items[i].Names, " "))
	}
	networks, err2 := s.engine.NetworkList(ctx, moby.NetworkListOptions{Filters: ours(owner)})
	for i := range networks.Items {
		out = append(out, "network "+networks.Items[i].Name)
	}
	volumes, err3 := s.engine.VolumeList(ctx, moby.VolumeListOptions{Filters: ours(owner)})
	for i := range volumes.Items {
		out = append(out, "volume "+volumes.Items[i].Name)
	}
	return out, errors.Join(err, err2, err3)
}

// tearDown ends everything and removes what is left.
func (s *stand) tearDown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearTimeout)
	defer cancel()
	var errs []error
	if s.daemon != nil {
		s.daemon.close()
		if !s.unfenced {
			errs = append(errs, s.unfence(ctx))
		}
	}
	if s.plane != nil {
		s.plane.close()
	}
	if s.holder != nil {
		errs = append(errs, s.holder.Close())
	}
	if s.engine != nil {
		errs = append(errs, s.clear(ctx), s.engine.Close())
	}
	errs = append(errs, os.RemoveAll(s.dir))
	if err := errors.Join(errs...); err != nil {
		s.o.say("clean up: %v", err)
	}
}

// unfence takes the backend's firewall off the host.
func (s *stand) unfence(ctx context.Context) error {
	f, err := os.OpenFile(s.config(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("isolation: {firewall: off}\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, s.binary, "backend", "--config", s.config(), "--data-dir", s.data(), "--firewall-only").CombinedOutput()
	if err != nil {
		return fmt.Errorf("take the firewall away: %w\n%s", err, out)
	}
	s.unfenced = true
	return nil
}

func (s *stand) clear(ctx context.Context) error {
	var errs []error
	drop := func(what string, err error) {
		if err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	if owner, err := s.owner(ctx); err == nil {
		list, err := s.engine.ContainerList(ctx, moby.ContainerListOptions{All: true, Filters: ours(owner)})
		drop("list containers", err)
		for i := range list.Items {
			_, err := s.engine.ContainerRemove(ctx, list.Items[i].ID, moby.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			drop("remove a container", err)
		}
		networks, err := s.engine.NetworkList(ctx, moby.NetworkListOptions{Filters: ours(owner)})
		drop("list networks", err)
		for i := range networks.Items {
			_, err := s.engine.NetworkRemove(ctx, networks.Items[i].ID, moby.NetworkRemoveOptions{})
			drop("remove a network", err)
		}
		volumes, err := s.engine.VolumeList(ctx, moby.VolumeListOptions{Filters: ours(owner)})
		drop("list volumes", err)
		for i := range volumes.Items {
			_, err := s.engine.VolumeRemove(ctx, volumes.Items[i].Name, moby.VolumeRemoveOptions{})
			drop("remove a volume", err)
		}
	}
	for v := range versions {
		_, err := s.engine.ImageRemove(ctx, s.image(v), moby.ImageRemoveOptions{Force: true})
		drop("remove an image", err)
	}
	return errors.Join(errs...)
}

// owner is the mark of what the backend made.
func (s *stand) owner(ctx context.Context) (string, error) {
	if _, err := os.Stat(s.data()); err != nil {
		return "", err // it never began
	}
	st, err := sqlite.Open(ctx, sqlite.Options{Dir: s.data()})
	if err != nil {
		return "", err
	}
	defer func() { _ = st.Close() }()
	return st.InstanceID(ctx)
}
