package config

// Config is what an operator says about a shard, complete with its defaults. It
// is shared and never changed: whoever wants another one makes a copy.
type Config struct {
	Cluster      Cluster             `json:"cluster"`
	Shard        Shard               `json:"shard"`
	Storage      Storage             `json:"storage,omitzero"`
	Images       map[string]Image    `json:"images,omitempty"`
	Certificates Certificates        `json:"certificates"`
	Defaults     Defaults            `json:"defaults"`
	Templates    map[string]Template `json:"templates,omitempty"`
	// Groups are those of the text and, after WithDynamic, the dynamic ones.
	Groups Groups `json:"groups,omitempty"`

	static map[GroupKey]Group // the groups of the text, as they are there
}

// Groups are groups by tenant and name.
type Groups map[string]map[string]Group

// GroupKey names a group. Two tenants may each have a group of one name.
type GroupKey struct{ Tenant, Group string }

// Cluster is the part that all shards share.
type Cluster struct {
	ID string `json:"id"`
}

// Shard is one provider in one place, and who looks after its machines.
type Shard struct {
	Name     string   `json:"name"`
	Provider Provider `json:"provider"`
	Server   Server   `json:"server"`
	// SubnetPools are the provider's subnets by the name of a pool, in the order
	// in which they are filled.
	SubnetPools map[string][]string `json:"subnet_pools,omitempty"`
	// DynamicSubnetPools are those that dynamic groups may use; nil is all.
	DynamicSubnetPools []string     `json:"dynamic_subnet_pools,omitempty"`
	UserdataURLs       UserdataURLs `json:"userdata_urls"`
	Timings            Timings      `json:"timings"`
	GC                 GC           `json:"gc"`
	Election           Election     `json:"election"`
	Expiry             Expiry       `json:"expiry"`
}

// Provider is what makes machines; infra.Registry opens it.
type Provider struct {
	Kind    string         `json:"kind"`
	Region  string         `json:"region,omitempty"`
	Zone    string         `json:"zone,omitempty"`
	Options map[string]any `json:"options,omitempty"`
}

// Server is where machines and operators reach the shard, each host:port.
type Server struct {
	RegistrationAddr string `json:"registration_addr"`
	AgentAddr        string `json:"agent_addr"`
	OperatorAddr     string `json:"operator_addr,omitempty"`
	// IngressAddr is where agents reach the data plane; empty is that it reaches no
	// container on them.
	IngressAddr string `json:"ingress_addr,omitempty"`
}

// UserdataURLs bound what is fetched for a machine's user data.
type UserdataURLs struct {
	AllowHTTP bool     `json:"allow_http,omitempty"`
	Timeout   Duration `json:"timeout"`
	MaxBytes  int      `json:"max_bytes"`
}

// Timings are the deadlines and rhythms of a shard.
type Timings struct {
	RequestTimeout      Duration `json:"request_timeout"`
	CreateInterval      Duration `json:"create_interval"`
	HealthCheckInterval Duration `json:"health_check_interval"`
	// DefaultDrainTimeout is that of groups without one of their own; 0 is no
	// drain.
	DefaultDrainTimeout Duration `json:"default_drain_timeout"`
	LaunchTimeout       Duration `json:"launch_timeout"`
	ClockSkew           Duration `json:"clock_skew"`
	ImageRefresh        Duration `json:"image_refresh"`
	RetryMin            Duration `json:"retry_min"`
	RetryMax            Duration `json:"retry_max"`
	ShutdownTimeout     Duration `json:"shutdown_timeout"`
}

// GC is how what is left over is found and removed.
type GC struct {
	// Interval and RegistrationTimeout are both 0, and then machines that never
	// register stay, or neither is.
	Interval               Duration `json:"interval"`
	RegistrationTimeout    Duration `json:"registration_timeout"`
	DeletedRecordRetention Duration `json:"deleted_record_retention"`
	// MinAge is how old a machine without a record is before it is removed.
	MinAge     Duration `json:"min_age"`
	MaxDeletes int      `json:"max_deletes"`
}

// Election is how the servers of a shard find their leader.
type Election struct {
	Interval     Duration `json:"interval"`
	IdleInterval Duration `json:"idle_interval"`
	Timeout      Duration `json:"timeout"`
}

// Expiry is how old machines may become; 0 is any age.
type Expiry struct {
	EligibleAge Duration `json:"eligible_age"`
	ForcedAge   Duration `json:"forced_age"`
	OnDemandAge Duration `json:"ondemand_age"`
}

// Image is where the id of an image comes from: given, or found by filters.
type Image struct {
	ID      string              `json:"id,omitempty"`
	Filters map[string][]string `json:"filters,omitempty"`
	Owners  []string            `json:"owners,omitempty"`
	// Sort is creation-date or name, Order asc or desc: the first is taken.
	Sort  string `json:"sort,omitempty"`
	Order string `json:"order,omitempty"`
	// Fallback is the id that is taken when none was ever found.
	Fallback string `json:"fallback,omitempty"`
}

// Certificates are the lives of what the cluster's authority signs.
type Certificates struct {
	CATTL            Duration `json:"ca_ttl"`
	ServerTTL        Duration `json:"server_ttl"`
	AgentTTL         Duration `json:"agent_ttl"`
	OperatorTTL      Duration `json:"operator_ttl"`
	OperatorTokenTTL Duration `json:"operator_token_ttl"`
}

// Defaults are below every template.
type Defaults struct {
	Args     map[string]any    `json:"args,omitempty"`
	Vars     map[string]string `json:"vars,omitempty"`
	Userdata *Userdata         `json:"userdata,omitempty"`
}

// Template is a kind of machine.
type Template struct {
	// Kind is the three letters that ids of its machines begin with.
	Kind         string            `json:"kind"`
	Arch         string            `json:"arch"`
	Size         *int              `json:"size,omitempty"`
	InstanceType string            `json:"instance_type,omitempty"`
	SubnetPool   string            `json:"subnet_pool,omitempty"`
	Args         map[string]any    `json:"args,omitempty"`
	Vars         map[string]string `json:"vars,omitempty"`
	Userdata     *Userdata         `json:"userdata,omitempty"`
	// What is required is there before a machine is made, or none is.
	RequiredImages  []string `json:"required_images,omitempty"`
	RequiredVars    []string `json:"required_vars,omitempty"`
	RequiredSecrets []string `json:"required_secrets,omitempty"`
}

// Userdata is the source of what a machine runs at its first boot: a template of
// package text/template.
type Userdata struct {
	Source   string `json:"source"`   // inline or url
	Encoding string `json:"encoding"` // plain, base64, gzip or base64+gzip
	Content  string `json:"content,omitempty"`
	URL      string `json:"url,omitempty"`
}

// Group is machines that a tenant wants of a template.
type Group struct {
	Template string `json:"template,omitempty"`
	// Size is how many; nil is the template's.
	Size         *int              `json:"size,omitempty"`
	InstanceType string            `json:"instance_type,omitempty"`
	SubnetPool   string            `json:"subnet_pool,omitempty"`
	Args         map[string]any    `json:"args,omitempty"`
	Vars         map[string]string `json:"vars,omitempty"`
	// DrainTimeout is how long a machine drains; nil is the shard's, 0 is no drain.
	DrainTimeout *Duration `json:"drain_timeout,omitempty"`
}
