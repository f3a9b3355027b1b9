package dockerprovider

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/provider"
)

// unrecordedStatus is what labels and the engine tell of a workload whose record is
// lost, or that is on its way out. What should be is not known then: what runs is
// running, and what ended as it was told to is stopped.
func (d *Driver) unrecordedStatus(ctx context.Context, workload id.ID, w *records.Workload) (*provider.InstanceStatus, error) {
	list, err := d.containers(ctx, workload)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && w == nil {
		return nil, notFound(workload)
	}
	st := &provider.InstanceStatus{Endpoints: []provider.Endpoint{}, Services: map[string]provider.ServiceStatus{}}
	err = together(len(list), func(i int) error {
		full, err := d.rt.Inspect(ctx, list[i].ID)
		if err == nil {
			list[i] = *full
		}
		if docker.IsNotFound(err) {
			return nil
		}
		return failed("inspect container "+list[i].Name, err)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b docker.ContainerState) int {
		return cmp.Or(cmp.Compare(replicaOf(&a), replicaOf(&b)), strings.Compare(a.Name, b.Name))
	})
	for i := range list {
		d.addUnrecorded(st, &list[i])
	}
	d.releaseUnrecorded(st, list)
	st.State = provider.StateRunning
	for _, name := range sortedNames(st.Services) {
		s := st.Services[name]
		st.Restarts += s.Restarts
		done := s.State == provider.StateStopped && s.Ready
		if !done && worse(s.State, st.State) {
			st.State, st.Reason, st.Message = s.State, s.Reason, s.Message
		}
		st.Available = st.Available || s.State == provider.StateRunning
	}
	st.Ready = st.State == provider.StateRunning
	if w != nil {
		st.State, st.Ready, st.Reason, st.Message = provider.StateDestroying, false, "", "it is being removed"
	}
	return st, nil
}

func sortedNames(services map[string]provider.ServiceStatus) []string {
	names := make([]string, 0, len(services))
	for name := range services {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// addUnrecorded adds one container to the status of its service.
func (d *Driver) addUnrecorded(st *provider.InstanceStatus, c *docker.ContainerState) {
	r := provider.ReplicaStatus{Replica: replicaOf(c), ProviderRef: c.ID, Restarts: c.RestartCount + d.rt.restarts(c.Name)}
	if !c.Started.IsZero() {
		started := c.Started.UTC()
		r.StartedAt = &started
		if c.Running() && (st.StartedAt == nil || started.Before(*st.StartedAt)) {
			st.StartedAt = &started
		}
	}
	switch c.Status {
	case docker.StatusRunning:
		r.State, r.Ready = provider.StateRunning, c.Labels[docker.LabelRole] != roleInit
	case docker.StatusRestarting:
		r.State, r.Reason = provider.StateStarting, provider.ReasonExited
	case docker.StatusPaused:
		r.State, r.Reason = provider.StateFailed, provider.ReasonUnhealthy
	case docker.StatusCreated, docker.StatusRemoving:
		r.State, r.Reason = provider.StateStopped, provider.ReasonStopped
	case docker.StatusExited, docker.StatusDead:
		code := c.Exit.Code
		r.ExitCode = &code
		endedUnrecorded(&r, c)
	}
	s, seen := st.Services[serviceName(c)]
	if !seen {
		s = provider.ServiceStatus{State: r.State, Ready: true, Reason: r.Reason, ProviderRef: c.ID}
	}
	if worse(r.State, s.State) {
		s.State, s.Reason = r.State, r.Reason
	}
	s.Ready = s.Ready && r.Ready
	s.Restarts += r.Restarts
	s.Replicas = append(s.Replicas, r)
	st.Services[serviceName(c)] = s
}

// releaseUnrecorded fills in what the labels of running containers tell of
// releases and endpoints.
func (d *Driver) releaseUnrecorded(st *provider.InstanceStatus, list []docker.ContainerState) {
	var newest time.Time
	for i := range list {
		c := &list[i]
		if release, err := id.Parse(c.Labels[docker.LabelDeployed]); err == nil && isMain(c) && !c.Created.Before(newest) {
			newest, st.ReleaseID, st.TargetReleaseID = c.Created, release, release
		}
		if !c.Running() {
			continue
		}
		for _, p := range portsOf(c.Labels[docker.LabelPorts]) {
			st.Endpoints = append(st.Endpoints, d.ways(serviceName(c), p, replicaOf(c), c.Address, c.Ports)...)
		}
	}
	sortEndpoints(st.Endpoints)
}

// toldToEnd are exit codes of a process that a stop signal ended.
var toldToEnd = []int{0, 143, 137}

func endedUnrecorded(r *provider.ReplicaStatus, c *docker.ContainerState) {
	init := c.Labels[docker.LabelRole] == roleInit
	switch {
	case c.Exit.OOMKilled:
		r.State, r.Reason = provider.StateFailed, provider.ReasonOutOfMemory
	case init && c.Exit.Code == 0:
		r.State, r.Ready = provider.StateStopped, true
	case init:
		r.State, r.Reason = provider.StateFailed, provider.ReasonInitFailed
	case slices.Contains(toldToEnd, c.Exit.Code):
		r.State, r.Reason = provider.StateStopped, provider.ReasonStopped
	default:
		r.State, r.Reason = provider.StateFailed, provider.ReasonExited
	}
}
