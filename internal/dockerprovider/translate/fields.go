package translate

import (
	"fmt"
	"strings"
)

// Fate is what happens to a field of a request.
type Fate string

// The fates.
const (
	// Mapped: it changes what runs, or how a call works.
	Mapped Fate = "mapped"
	// Refused: any value but the zero one is provider.ErrNotSupported.
	Refused Fate = "refused"
	// InPart: some values are mapped and the others refused.
	InPart Fate = "in part"
	// Kept: it is recorded with the request, for others to read.
	Kept Fate = "kept"
)

// Field is one field of a request and what this driver does with it.
type Field struct {
	// Name is the struct of package provider and the field's name in JSON.
	Name string
	Fate Fate
	How  string
}

// Fields are all fields that a caller can set, struct by struct. Those of a
// ServiceDeploySpec are those of a ServiceSpec.
func Fields() []Field {
	return []Field{
		{"ProvisionRequest.instance_id", Mapped, "names containers, networks and volumes, and is their label berth.workload"},
		{"ProvisionRequest.tenant_id", Mapped, "whose secrets and shared networks; the label berth.tenant"},
		{"ProvisionRequest.name", Mapped, "what other workloads of the network resolve; of a stateful set also name-0, name-1 …"},
		{"ProvisionRequest.kind", Mapped, "a stateful_set has volumes, a host name and a network name for each replica"},
		{"ProvisionRequest.services", Mapped, "see ServiceSpec"},
		{"ProvisionRequest.labels", Mapped, "labels of containers and volumes"},
		{"ProvisionRequest.release_id", Mapped, "the first release, and the label berth.deployed of its containers"},
		{"ProvisionRequest.network", Mapped, "a bridge network of the tenant; empty is one of the workload's own"},
		{"ProvisionRequest.rollout", Mapped, "see RolloutSpec"},

		{"ServiceSpec.name", Mapped, "a host entry in the containers of its replica"},
		{"ServiceSpec.image", Mapped, "resolved once for each release, to a digest or the id of a local build"},
		{"ServiceSpec.role", Mapped, "init, main or sidecar of the group"},
		{"ServiceSpec.depends_on", Mapped, "the order of starts; it waits until what it names is ready"},
		{"ServiceSpec.resources", Mapped, "see ResourceSpec"},
		{"ServiceSpec.env", Mapped, "variables, beside the image's"},
		{"ServiceSpec.ports", Mapped, "see PortSpec"},
		{"ServiceSpec.volumes", Mapped, "see VolumeSpec"},
		{"ServiceSpec.health_check", Mapped, "gates the replica, and is asked while it serves; see HealthCheckSpec"},
		{"ServiceSpec.secrets", Mapped, "see SecretRef"},
		{"ServiceSpec.config_files", Mapped, "see ConfigFile"},
		{"ServiceSpec.annotations", Mapped, "labels of the container"},
		{"ServiceSpec.command", Mapped, "the entry point; set, it also sets aside the image's command"},
		{"ServiceSpec.args", Mapped, "the command"},
		{"ServiceSpec.liveness", Mapped, "restarts the container in place; see HealthCheckSpec"},
		{"ServiceSpec.security", Mapped, "see SecuritySpec"},
		{"ServiceSpec.user", Mapped, "the user of the process"},
		{"ServiceSpec.working_dir", Mapped, "the working directory"},
		{"ServiceSpec.tmpfs", Mapped, "see TmpfsSpec"},
		{"ServiceSpec.init", Mapped, "the engine's own init as process 1"},
		{"ServiceSpec.stop_grace", Mapped, "between the stop signal and the kill; a change needs no new container"},
		{"ServiceSpec.stop_signal", Mapped, "the stop signal"},

		{"ResourceSpec.cpu_millis", Mapped, "a quota of CPU time"},
		{"ResourceSpec.memory_mb", Mapped, "a limit of memory and swap together"},
		{"ResourceSpec.disk_mb", Refused, "an engine does not bound what a container writes"},
		{"ResourceSpec.replicas", Mapped, "the number of groups; 253 containers, old and new, fit into a network"},
		{"ResourceSpec.gpu", Refused, "devices of the host are not given out"},

		{"PortSpec.container", Mapped, "reached at the container's address; the first TCP port is asked where no health check says otherwise"},
		{"PortSpec.host", Mapped, "a published port; one container can hold a given one, so that old and new follow each other"},
		{"PortSpec.protocol", Mapped, "TCP or UDP, and the scheme of endpoints"},
		{"PortSpec.bind_address", Mapped, "the address of the host to publish on"},
		{"PortSpec.public", Mapped, "publishes on all addresses"},
		{"PortSpec.domains", Refused, "it routes no domains"},
		{"PortSpec.tls", Refused, "it ends no TLS"},
		{"TLSSpec.secret", Refused, "with PortSpec.tls"},
		{"TLSSpec.redirect_http", Refused, "with PortSpec.tls"},

		{"VolumeSpec.name", Mapped, "a named volume of the workload; of a stateful set one for each replica"},
		{"VolumeSpec.mount_path", Mapped, "where it is mounted"},
		{"VolumeSpec.size_mb", Refused, "volumes of an engine have no limit"},
		{"VolumeSpec.type", Refused, "an engine has one class of volumes"},
		{"VolumeSpec.shared", Mapped, "without it old and new containers that may write follow each other"},
		{"VolumeSpec.read_only", Mapped, "mounted read-only"},
		{"VolumeSpec.ids", Mapped, "volumes of the tenant, one for each replica, in the place of the workload's; Deprovision leaves them"},
		{"TmpfsSpec.mount_path", Mapped, "a directory in memory"},
		{"TmpfsSpec.size_mb", Mapped, "its size; zero is half of the machine's memory"},

		{"HealthCheckSpec.path", InPart, "HTTP; refused on a port of protocol https, since probes speak no TLS"},
		{"HealthCheckSpec.port", Mapped, "dialled at the container's address"},
		{"HealthCheckSpec.interval", Mapped, "zero is 2 s until ready, 10 s afterwards, and 30 s of a liveness check"},
		{"HealthCheckSpec.timeout", Mapped, "zero is 2 s"},
		{"HealthCheckSpec.retries", Mapped, "failures in a row until Unhealthy, or until the restart; zero is 3"},
		{"HealthCheckSpec.exec", Mapped, "run in the container"},
		{"HealthCheckSpec.grpc", InPart, "grpc.health.v1; refused on a port of protocol https"},
		{"HealthCheckSpec.expected_status", Mapped, "the one status that is healthy; zero is 200 to 399"},
		{"HealthCheckSpec.start_period", InPart, "of a health check it is added to RolloutSpec.ready_timeout, before which no failure counts; of a liveness check it is refused"},
		{"GRPCCheck.service", Mapped, "the service that is asked for"},

		{"SecretRef.key", Mapped, "read from the vault when a container is created"},
		{"SecretRef.type", InPart, "env and file; registry and tls are refused"},
		{"SecretRef.env_key", Mapped, "the variable"},
		{"SecretRef.path", Mapped, "the file, in a volume of the container's own that covers its directory"},
		{"SecretRef.optional", Mapped, "the container starts without it"},
		{"SecretRef.version", Mapped, "the version of the value; zero is the newest when the release is made"},
		{"ConfigFile.name", Mapped, "a part of its key in the vault"},
		{"ConfigFile.path", Mapped, "the file, in a volume of the container's own that covers its directory"},
		{"ConfigFile.format", Kept, "for whoever shows or edits the file"},
		{"ConfigFile.content", Mapped, "kept in the vault under files/<instance>/<service>/<name>"},
		{"ConfigFile.key", Mapped, "the vault's key of the content"},
		{"ConfigFile.version", Mapped, "the version under that key; zero is the newest when the release is made"},

		{"SecuritySpec.read_only_root_fs", Mapped, "the image is mounted read-only"},
		{"SecuritySpec.cap_add", InPart, "what the operator allows; the default ones are " + strings.Join(DefaultCapabilities(), ", ")},
		{"SecuritySpec.cap_drop", Mapped, "taken from the default ones; ALL leaves none"},
		{"SecuritySpec.no_new_privileges", InPart, "true, which is the default; false is refused"},
		{"SecuritySpec.pids_limit", Mapped, "a limit of processes and threads; zero is the engine's default"},

		{"RolloutSpec.max_surge", Mapped, "groups above the wanted number of a rolling change"},
		{"RolloutSpec.max_unavailable", Mapped, "groups that may be missing meanwhile"},
		{"RolloutSpec.ready_timeout", Mapped, "the time to become ready, counted from the start of a container"},
		{"RolloutSpec.stable_window", Mapped, "how long it must stay ready; of a service without a port and a check, how long it must run, 3 s by default"},

		{"DeployRequest.instance_id", Mapped, "the workload"},
		{"DeployRequest.release_id", Mapped, "the release"},
		{"DeployRequest.services", Mapped, "see ServiceSpec"},
		{"DeployRequest.strategy", InPart, "blue-green (the default), rolling and recreate; canary is refused. Where two releases cannot run side by side, the old one stops first, whatever was asked for"},
		{"DeployRequest.rollout", Mapped, "see RolloutSpec"},

		{"LogOptions.service_name", Mapped, "the service; empty is main"},
		{"LogOptions.follow", Mapped, "over restarts and deploys, until the instance is gone"},
		{"LogOptions.since", Mapped, "from that time on"},
		{"LogOptions.tail", Mapped, "of each container, kept logs of removed ones included"},
		{"LogOptions.replica", Mapped, "the replica; nil is all"},
		{"ExecRequest.command", Mapped, "run without a shell"},
		{"ExecRequest.stdin", Mapped, "its input"},
		{"ExecRequest.tty", Mapped, "a terminal"},
		{"ExecRequest.service_name", Mapped, "the service; empty is main"},
		{"ExecRequest.replica", Mapped, "the replica; nil is the first that serves"},
		{"ExecRequest.env", Mapped, "variables, beside the container's"},
		{"ExecRequest.user", Mapped, "the user"},
		{"ExecRequest.working_dir", Mapped, "the working directory"},
		{"ExecRequest.size", Mapped, "the terminal's first size"},
		{"ExecRequest.resize", Mapped, "later sizes"},
		{"ExecRequest.stdout", Mapped, "gets standard output as it comes"},
		{"ExecRequest.stderr", Mapped, "gets standard error as it comes"},
	}
}

// Table is the fields as a page of the documentation.
func Table() string {
	var b strings.Builder
	b.WriteString("# Fields of workloads, by driver\n\n" +
		"What each driver does with each field that a caller of package `provider` can set. A field is *mapped*, or it is\n" +
		"*refused*: a request that sets it is answered with `ErrNotSupported` and the name of the field, and changes nothing.\n" +
		"*In part* is some values so and the others so; *kept* is recorded and changes nothing. Nothing is ignored.\n\n" +
		"The fields of a `ServiceDeploySpec` are those of a `ServiceSpec`. This page is written from the table that the driver's\n" +
		"tests hold it to.\n")
	last := ""
	for _, f := range Fields() {
		owner, name, _ := strings.Cut(f.Name, ".")
		if owner != last {
			fmt.Fprintf(&b, "\n## %s\n\n| field | docker | how |\n|---|---|---|\n", owner)
			last = owner
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, f.Fate, f.How)
	}
	return b.String()
}
