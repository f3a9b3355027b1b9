package dockerprovider

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/provider"
)

// marking is an engine on which the containers of one workload also get what
// the planner does not know of: annotations of their service, and labels that
// tell a process without records which release they are of and where they answer.
type marking struct {
	docker.Runtime
	d        *Driver
	workload id.ID
}

// Create implements docker.Runtime.
func (m marking) Create(ctx context.Context, spec docker.ContainerSpec) (string, error) {
	w, err := m.d.records.Known(ctx, m.workload)
	if err != nil {
		return "", err
	}
	rev := w.StandsFor(spec.Labels[docker.LabelRelease])
	if rev == nil {
		return m.Runtime.Create(ctx, spec)
	}
	i := slices.IndexFunc(rev.Services, func(s provider.ServiceSpec) bool { return s.Name == spec.Labels[docker.LabelMember] })
	labels := map[string]string{}
	if i >= 0 {
		maps.Copy(labels, rev.Services[i].Annotations)
	}
	maps.Copy(labels, spec.Labels)
	labels[docker.LabelDeployed] = rev.Release.String()
	if i >= 0 && rev.Services[i].StopGrace > 0 {
		labels[docker.LabelGrace] = rev.Services[i].StopGrace.String()
	}
	if i >= 0 && len(rev.Services[i].Ports) > 0 {
		labels[docker.LabelPorts] = portList(rev.Services[i].Ports)
	}
	spec.Labels = labels
	return m.Runtime.Create(ctx, spec)
}

// Start implements docker.Runtime. What writes a volume that is a tenant's does not
// start beside a container of another instance that does.
func (m marking) Start(ctx context.Context, container string) error {
	w, err := m.d.records.Known(ctx, m.workload)
	if err != nil {
		return err
	}
	if len(keptIDs(w)) == 0 {
		m.d.holds.end(m.workload)
		return m.Runtime.Start(ctx, container)
	}
	return m.d.startOne(ctx, m.workload, container, w)
}

// Stop implements docker.Runtime. Every member has a grace of its own, of which
// the planner knows main's.
func (m marking) Stop(ctx context.Context, container string, grace time.Duration) error {
	if w, err := m.d.records.Known(ctx, m.workload); err == nil {
		grace = graceOf(w, container, nil)
	}
	return m.Runtime.Stop(ctx, container, grace)
}

// graceOf is how long a container may take to end: what its service says now,
// or what its label said when it was made.
func graceOf(w *records.Workload, container string, labels map[string]string) time.Duration {
	if w != nil && w.Revision(w.Goal) != nil {
		services := w.Revision(w.Goal).Services
		_, member, _ := strings.Cut(container, ".")
		if member == "" {
			main, _ := translate.Main(services)
			return cmp.Or(main.StopGrace, provider.DefaultStopGrace)
		}
		for _, s := range services {
			if s.Name == member {
				return cmp.Or(s.StopGrace, provider.DefaultStopGrace)
			}
		}
	}
	if d, err := time.ParseDuration(labels[docker.LabelGrace]); err == nil && d > 0 {
		return d
	}
	return provider.DefaultStopGrace
}

// portList is ports as a label holds them.
func portList(ports []provider.PortSpec) string {
	words := make([]string, 0, len(ports))
	for _, p := range ports {
		words = append(words, fmt.Sprintf("%d/%s", p.Container, scheme(p)))
	}
	return strings.Join(words, " ")
}

// portsOf undoes portList, as far as a label can be read.
func portsOf(label string) []provider.PortSpec {
	var out []provider.PortSpec
	for _, word := range strings.Fields(label) {
		var p provider.PortSpec
		number, protocol, _ := strings.Cut(word, "/")
		if _, err := fmt.Sscanf(number, "%d", &p.Container); err == nil {
			p.Protocol = protocol
			out = append(out, p)
		}
	}
	return out
}
