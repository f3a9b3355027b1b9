package providertest

import (
	"strconv"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// port is where the main service of the suite listens. The members of a group
// have different ones.
const port = 8080

// wait is how long a release may take to become ready where the case is about
// one that does not.
const wait = 3 * time.Second

// web is a service that listens on a port.
func (e *env) web(name string, role provider.ServiceRole, at int) provider.ServiceSpec {
	return provider.ServiceSpec{
		Name: name, Image: e.Images.V1, Role: role, Args: serving(at),
		Ports:       []provider.PortSpec{{Container: at, Protocol: provider.ProtocolHTTP}},
		HealthCheck: health(at),
	}
}

// serving are the steps of a service that listens, behind others.
func serving(at int, before ...string) []string {
	return append(before, "listen:"+strconv.Itoa(at), "wait")
}

func health(at int) *provider.HealthCheckSpec {
	return &provider.HealthCheckSpec{Path: "/healthz", Port: at, Interval: 100 * time.Millisecond, Timeout: time.Second, Retries: 2}
}

// task is a service without a port. Without steps it ends at once, and well.
func (e *env) task(name string, role provider.ServiceRole, steps ...string) provider.ServiceSpec {
	if len(steps) == 0 {
		steps = []string{"out:done"}
	}
	return provider.ServiceSpec{Name: name, Image: e.Images.V1, Role: role, Args: steps}
}

// request asks for a workload of the services, or of "web" alone. It may be
// ready late, and fails late.
func (e *env) request(services ...provider.ServiceSpec) provider.ProvisionRequest {
	if len(services) == 0 {
		services = []provider.ServiceSpec{e.web("web", provider.RoleMain, port)}
	}
	return provider.ProvisionRequest{
		InstanceID: id.New(id.KindWorkload), TenantID: e.Tenant, Name: "conformance", Kind: provider.KindDeployment,
		Services: services, Rollout: &provider.RolloutSpec{ReadyTimeout: time.Minute},
	}
}

// mounted is a service with a volume at /data.
func mounted(s provider.ServiceSpec, shared bool) provider.ServiceSpec {
	s.Volumes = append(s.Volumes, provider.VolumeSpec{Name: "data", MountPath: "/data", Shared: shared})
	return s
}

// times is a service in so many replicas.
func times(s provider.ServiceSpec, replicas int) provider.ServiceSpec {
	s.Resources.Replicas = replicas
	return s
}

// change is a deploy of an image, with whatever the functions add.
func (e *env) change(name, image string, adds ...func(*provider.ServiceDeploySpec)) provider.ServiceDeploySpec {
	d := provider.ServiceDeploySpec{Name: name, Image: image}
	for _, add := range adds {
		add(&d)
	}
	return d
}

func withArgs(args ...string) func(*provider.ServiceDeploySpec) {
	return func(d *provider.ServiceDeploySpec) { d.Args = args }
}

func withEnv(env map[string]string) func(*provider.ServiceDeploySpec) {
	return func(d *provider.ServiceDeploySpec) { d.Env = env }
}

func ptr[V any](v V) *V { return &v }
