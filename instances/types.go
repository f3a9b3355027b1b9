package instances

import "time"

// CreateInstanceRequest contains parameters for creating an instance.
type CreateInstanceRequest struct {
	InstanceID   string                 `json:"instance_id"`   // If empty, will be generated
	Group        string                 `json:"group"`         // Required group reference
	Tenant       string                 `json:"tenant"`        // Tenant identifier
	Template     string                 `json:"template"`      // Template name from configuration (optional override)
	InstanceType string                 `json:"instance_type"` // Override template/group instance type
	SubnetPool   string                 `json:"subnet_pool"`   // Override template/group subnet pool
	Vars         map[string]string      `json:"vars"`          // Additional vars
	Args         map[string]interface{} `json:"args"`          // Override template/group args
	Tags         map[string]string      `json:"tags"`          // Additional instance tags
	OnDemand     bool                   `json:"on_demand"`     // Whether this is an on-demand instance (not managed by group reconciliation)
}

// CreateInstanceResponse contains the result of instance creation.
type CreateInstanceResponse struct {
	InstanceID         string    `json:"instance_id"`
	Group              string    `json:"group"`
	Template           string    `json:"template"`
	ProviderInstanceID string    `json:"provider_instance_id"`
	Status             string    `json:"status"`
	PrivateIPv4        string    `json:"private_ipv4"`
	PrivateIPv6        string    `json:"private_ipv6"`
	Hostname           string    `json:"hostname"`
	CreatedAt          time.Time `json:"created_at"`
	RegistrationJWT    string    `json:"registration_jwt"` // the token itself: nobody keeps it
}

// GroupInstanceRequest represents a request to create instances for a group.
type GroupInstanceRequest struct {
	Group        string                 `json:"group"`
	Template     string                 `json:"template"`
	Count        int                    `json:"count"`
	InstanceType string                 `json:"instance_type"`
	SubnetPool   string                 `json:"subnet_pool"`
	Vars         map[string]string      `json:"vars"`
	Args         map[string]interface{} `json:"args"`
	Tags         map[string]string      `json:"tags"`
}

// InstanceStatus represents the current state of an instance.
type InstanceStatus struct {
	InstanceID         string            `json:"instance_id"`
	Group              string            `json:"group"`
	ProviderInstanceID string            `json:"provider_instance_id"`
	Status             string            `json:"status"` // the provider's word, see infra.Status
	InstanceType       string            `json:"instance_type"`
	PrivateIPv4        string            `json:"private_ipv4"`
	PrivateIPv6        string            `json:"private_ipv6"`
	CreatedAt          time.Time         `json:"created_at"`
	LastUpdated        time.Time         `json:"last_updated"`
	Tags               map[string]string `json:"tags"`

	// Tenant, State and Hostname are the record's.
	Tenant   string `json:"tenant"`
	State    State  `json:"state"`
	Hostname string `json:"hostname"`
	// RegisteredAt is nil before the registration.
	RegisteredAt *time.Time `json:"registered_at,omitempty"`
}

// ImageGetter provides access to resolved image IDs.
type ImageGetter interface {
	GetAll() map[string]string
}

// ClusterData contains cluster information for template processing.
type ClusterData struct {
	ID     string `json:"id"`
	CACert string `json:"ca_cert"` // CA certificate PEM
}

// ServerData contains server information for template processing.
type ServerData struct {
	Shard            string `json:"shard"`
	RegistrationAddr string `json:"registration_addr"`
	AgentAddr        string `json:"agent_addr"`
	OperatorAddr     string `json:"operator_addr"`
	IngressAddr      string `json:"ingress_addr"` // where agents dial the data plane; may be empty
}

// ProviderData contains provider information for template processing.
type ProviderData struct {
	Kind   string `json:"kind"` // netns, qemu, aws, …
	Region string `json:"region"`
	Zone   string `json:"zone"`
}

// InstanceData contains instance information for template processing.
type InstanceData struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Arch string `json:"arch"`
	Type string `json:"type"`
}

// UserdataTemplateData contains data available for userdata template processing.
type UserdataTemplateData struct {
	Cluster  ClusterData       `json:"cluster"`
	Server   ServerData        `json:"server"`
	Provider ProviderData      `json:"provider"`
	Instance InstanceData      `json:"instance"`
	Vars     map[string]string `json:"vars"`
	Image    map[string]string `json:"image"` // Resolved image IDs (if any)
	Nonce    string            `json:"nonce"` // Registration nonce JWT

	// Secret are the required_secrets of the template, by name.
	Secret map[string]string `json:"-"`
}
