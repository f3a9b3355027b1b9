package wire

import "time"

// Machine is a machine as the leader of its shard sees it.
type Machine struct {
	ID           string `json:"id"`
	Tenant       string `json:"tenant"`
	Group        string `json:"group"`
	Template     string `json:"template,omitempty"`
	InstanceType string `json:"instance_type,omitempty"`
	OnDemand     bool   `json:"on_demand,omitempty" doc:"It is beside its group's size, and never replaced."`
	Status       string `json:"status" enum:"asked,refused,pending,starting,ready,silent,draining,deleting,deleted" doc:"asked: somebody wants it; refused: it will not be made; pending: the provider was told; starting: the provider has it; ready: registered and connected; silent: registered and not connected."`
	Reason       string `json:"reason,omitempty" doc:"Why it is not ready, or what is to become of it."`
	Online       bool   `json:"online" doc:"Its agent is connected."`
	PrivateIPv4  string `json:"private_ipv4,omitempty"`
	PrivateIPv6  string `json:"private_ipv6,omitempty"`
	Hostname     string `json:"hostname,omitempty"`
	ProviderID   string `json:"provider_id,omitempty" doc:"The provider's own id of it."`

	CreatedAt     time.Time `json:"created_at"`
	RegisteredAt  time.Time `json:"registered_at,omitzero"`
	HeardAt       time.Time `json:"heard_at,omitzero" doc:"The last heartbeat."`
	CertExpiresAt time.Time `json:"cert_expires_at,omitzero"`
}

// MachineList are machines, the oldest first.
type MachineList struct {
	Machines []Machine `json:"machines" nullable:"false"`
}

// MachineDetail is everything about one machine.
type MachineDetail struct {
	Machine
	Current      bool              `json:"current" doc:"It is made of what its group is made of now."`
	DeleteReason string            `json:"delete_reason,omitempty" doc:"Why it goes, as its record says."`
	Tags         map[string]string `json:"tags,omitempty"`
	Vars         map[string]string `json:"vars,omitempty"`
	Node         *MachineNode      `json:"node,omitempty" doc:"How it is connected; none: it is not."`
	Events       []MachineEvent    `json:"events" nullable:"false" doc:"What happened to it, the oldest first: what its record says, and what the leading server saw since it began."`
}

// MachineNode is a machine as its agent tells of it.
type MachineNode struct {
	Remote               string    `json:"remote" doc:"Where it connects from."`
	ConnectedAt          time.Time `json:"connected_at"`
	Version              string    `json:"version,omitempty" doc:"Of its agent."`
	BootID               string    `json:"boot_id,omitempty"`
	OS                   string    `json:"os,omitempty"`
	Arch                 string    `json:"arch,omitempty"`
	Kernel               string    `json:"kernel,omitempty"`
	CPUs                 int       `json:"cpus,omitempty"`
	MemoryBytes          uint64    `json:"memory_bytes,omitempty"`
	MemoryAvailableBytes uint64    `json:"memory_available_bytes,omitempty"`
	Load1                float64   `json:"load1,omitempty"`
	UptimeSeconds        uint64    `json:"uptime_seconds,omitempty"`
}

// MachineEvent is one thing that happened to a machine.
type MachineEvent struct {
	At    time.Time `json:"at" doc:"When it happened last."`
	Kind  string    `json:"kind" doc:"One or two words, such as connected."`
	Text  string    `json:"text,omitempty"`
	Times int       `json:"times" doc:"How often, one after another."`
}

// MachineGroup is a group of machines.
type MachineGroup struct {
	Tenant   string         `json:"tenant"`
	Group    string         `json:"group"`
	Template string         `json:"template,omitempty"`
	Size     int            `json:"size" doc:"How many machines there shall be."`
	Absent   bool           `json:"absent,omitempty" doc:"It is not in the file of machines any more; what is left of it goes."`
	OnDemand int            `json:"on_demand" doc:"Machines on demand, beside the size."`
	Machines map[string]int `json:"machines" doc:"How many there are in each status."`
	// Conditions are those of its controller.
	Conditions []MachineCondition `json:"conditions" nullable:"false"`
	Error      string             `json:"error,omitempty" doc:"Why the last look at it failed."`
	Failures   int                `json:"failures,omitempty" doc:"How often in a row."`
}

// MachineCondition is what the controller of a group says of it.
type MachineCondition struct {
	Type    string    `json:"type" doc:"Ready, UpToDate or LaunchesWork."`
	Status  string    `json:"status" enum:"True,False,Unknown"`
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// MachineGroupList are all groups, by tenant and name.
type MachineGroupList struct {
	Groups []MachineGroup `json:"groups" nullable:"false"`
}

// MachineCreateRequest asks for a machine.
type MachineCreateRequest struct {
	Group    string            `json:"group" minLength:"1" maxLength:"32"`
	Tenant   string            `json:"tenant,omitempty" maxLength:"32" doc:"Not needed when one tenant alone has a group of that name."`
	Vars     map[string]string `json:"vars,omitempty" doc:"Over those of the group."`
	OnDemand bool              `json:"on_demand,omitempty" doc:"It is not counted in its group's size, and never replaced."`
}

// MachineAsked is what was asked of machines and is kept until it is done.
type MachineAsked struct {
	Asked  string   `json:"asked" enum:"create,delete,rotate"`
	Tenant string   `json:"tenant,omitempty"`
	Group  string   `json:"group,omitempty"`
	IDs    []string `json:"ids" nullable:"false" doc:"The machines that it is asked of; of a create the one that will be."`
}
