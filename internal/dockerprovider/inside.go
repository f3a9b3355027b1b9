package dockerprovider

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/provider"
)

// inside is what whoever looks into a workload needs to know: its containers,
// and its record where there is one.
type inside struct {
	workload   id.ID
	record     *records.Workload
	containers []docker.ContainerState
}

// inside finds a workload, by its record or by its containers.
func (d *Driver) inside(ctx context.Context, workload id.ID) (*inside, error) {
	w, err := d.load(ctx, workload)
	if err != nil {
		return nil, err
	}
	list, err := d.containers(ctx, workload)
	if err != nil {
		return nil, err
	}
	if w == nil && len(list) == 0 {
		return nil, notFound(workload)
	}
	return &inside{workload: workload, record: w, containers: list}, nil
}

// service is the name of a service; of main for an empty one.
func (in *inside) service(name string) (string, error) {
	if in.record != nil && in.record.Wanted() != nil {
		services := in.record.Wanted().Services
		main, _ := translate.Main(services)
		if name == "" {
			return main.Name, nil
		}
		if slices.ContainsFunc(services, func(s provider.ServiceSpec) bool { return s.Name == name }) {
			return name, nil
		}
	}
	for i := range in.containers {
		c := &in.containers[i]
		if name == "" && isMain(c) || name != "" && serviceName(c) == name {
			return serviceName(c), nil
		}
	}
	return "", fmt.Errorf("service %q of instance %s: %w", name, in.workload, provider.ErrNotFound)
}

// wants reports whether there shall be a replica of that index.
func (in *inside) wants(replica int) bool {
	return in.record != nil && in.record.Desired != nil && replica >= 0 && replica < in.record.Desired.Replicas
}

// serves reports whether a container belongs to a group that takes traffic.
func (in *inside) serves(c *docker.ContainerState) bool {
	if in.record == nil || in.record.Active == nil {
		return false
	}
	for _, t := range in.record.Active.Targets {
		if groupOf(c.Name) == t.Container {
			return true
		}
	}
	return false
}

func replicaOf(c *docker.ContainerState) int {
	n, _ := strconv.Atoi(c.Labels[docker.LabelReplica]) // 0 for a label that is none
	return n
}

// groupOf is the name of the main container of a container's group.
func groupOf(container string) string {
	for i := range len(container) {
		if container[i] == '.' {
			return container[:i]
		}
	}
	return container
}
