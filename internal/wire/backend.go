package wire

import "time"

// What `berth backend` shows of a backend that hosts leases. Statuses and reasons are
// those of the backend protocol, and open sets.

// BackendLease is one lease.
type BackendLease struct {
	LeaseUUID    string    `json:"lease_uuid"`
	ProviderUUID string    `json:"provider_uuid"`
	Tenant       string    `json:"tenant,omitempty"`
	Partition    string    `json:"partition,omitempty"`
	Status       string    `json:"status"`
	CreatedAt    time.Time `json:"created_at"`
	// FailCount is the failures since the lease last came to be ready; Reason and
	// Message are of the last one.
	FailCount int    `json:"fail_count"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	// RetainedUntil is when the data of a retained lease is given up.
	RetainedUntil time.Time         `json:"retained_until,omitzero"`
	Image         string            `json:"image,omitempty"` // of a lease with one service
	SKU           string            `json:"sku,omitempty"`   // of a lease with one item
	Quantity      int               `json:"quantity"`        // containers in all
	Items         []BackendItem     `json:"items,omitempty"`
	ServiceImages map[string]string `json:"service_images,omitempty"`
}

// BackendItem is one line of a lease: so many of a SKU.
type BackendItem struct {
	SKU          string `json:"sku"`
	Quantity     int    `json:"quantity"`
	ServiceName  string `json:"service_name,omitempty"`
	CustomDomain string `json:"custom_domain,omitempty"`
}

// BackendLeaseList is leases, the newest first.
type BackendLeaseList struct {
	Leases []BackendLease `json:"leases"`
}

// BackendLeaseNames is the UUIDs of leases that begin alike, in order.
type BackendLeaseNames struct {
	Leases []string `json:"leases"`
	More   bool     `json:"more,omitempty"` // there are more than were asked for
}

// BackendLeaseDetail is all that a backend knows of a lease.
type BackendLeaseDetail struct {
	BackendLease
	// ProviderMessage is what the provider said of the failure that Reason and Message
	// tell, or of a call that is being repeated, in its own words. They may have paths,
	// addresses and what a program printed, and are for the operator alone.
	ProviderMessage string `json:"provider_message,omitempty"`
	// Gone says that nothing is left of it but callbacks, volumes that are being removed
	// and what it said last.
	Gone bool `json:"gone,omitempty"`
	// Deaths counts how often it failed by itself, ever.
	Deaths    int               `json:"deaths"`
	Operation *BackendOperation `json:"operation,omitempty"` // under way
	Workloads []BackendWorkload `json:"workloads"`
	// Leaving are instances that are removed before anything else happens.
	Leaving   []string          `json:"leaving,omitempty"`
	Instances []BackendInstance `json:"instances,omitempty"` // of a lease that is ready
	Releases  []BackendRelease  `json:"releases"`            // newest first
	Callbacks BackendCallbacks  `json:"callbacks"`
	Domains   []BackendDomain   `json:"domains,omitempty"`
	// Volumes are those that it holds, and those that it left.
	Volumes []BackendVolumeSet `json:"volumes,omitempty"`
}

// BackendDomain is a custom domain that a service has, or is to have.
type BackendDomain struct {
	Service string `json:"service"`
	Domain  string `json:"domain"`
	// State is served; waits, until it resolves; routing, on its way to the data plane;
	// or refused. Why says why it is not served.
	State string    `json:"state"`
	Why   string    `json:"why,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Again is when it is looked at again, or may be asked for anew.
	Again time.Time `json:"again,omitzero"`
}

// BackendVolumeSet is the volumes of one lease and whose they are.
type BackendVolumeSet struct {
	ID string `json:"id"`
	// State is held; retained; restoring, while the lease that owns it is not ready yet; or
	// reaping, while its volumes are being removed.
	State string `json:"state"`
	Owner string `json:"owner,omitempty"` // the lease that holds it, or restores it
	// Left is the lease that left it, and LeftAt when.
	Left   string    `json:"left,omitempty"`
	LeftAt time.Time `json:"left_at,omitzero"`
	DiskMB int64     `json:"disk_mb"` // that is counted for it
	// RetainedUntil is when it is given up; zero is never.
	RetainedUntil time.Time `json:"retained_until,omitzero"`
	// Attempts counts the removals that failed; TriedAt is when the last one did.
	Attempts int             `json:"attempts,omitempty"`
	TriedAt  time.Time       `json:"tried_at,omitzero"`
	Volumes  []BackendVolume `json:"volumes"`
}

// BackendVolume is one volume, of one replica and directory.
type BackendVolume struct {
	Service string `json:"service"`
	Index   int    `json:"index"`
	Path    string `json:"path"`
	ID      string `json:"id"` // at the backend's provider
}

// BackendOperation is a change that is under way.
type BackendOperation struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`    // provision, restart, update or restore
	Version  int       `json:"version"` // of the release that is to be
	Deadline time.Time `json:"deadline"`
	Done     []string  `json:"done,omitempty"` // services that were told to change
	// Reason and Message say why it failed and goes back, until BackBy.
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	BackBy  time.Time `json:"back_by,omitzero"`
	// ProviderMessage is what the provider said of it.
	ProviderMessage string `json:"provider_message,omitempty"`
}

// BackendWorkload is one service of a lease, as the backend's provider has it.
type BackendWorkload struct {
	Service  string `json:"service"`
	Instance string `json:"instance"` // its id at the provider
	Release  string `json:"release"`
	// State is empty where the provider does not know it, or Error says why it could
	// not tell.
	State    string `json:"state,omitempty"`
	Ready    int    `json:"ready"`
	Replicas int    `json:"replicas"`
	Restarts int    `json:"restarts"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	Error    string `json:"error,omitempty"`
}

// BackendInstance is one container of a lease and how it is reached.
type BackendInstance struct {
	Service   string            `json:"service"`
	Index     int               `json:"index"`
	Name      string            `json:"name,omitempty"` // below the backend's domain
	Container string            `json:"container,omitempty"`
	Status    string            `json:"status,omitempty"`
	Ports     map[string]string `json:"ports,omitempty"` // address by port, such as "80/tcp"
}

// BackendRelease is one manifest that was deployed, or was to be. The manifest is not
// in it: it may have what is its tenant's secret.
type BackendRelease struct {
	Version   int               `json:"version"`
	Status    string            `json:"status"`
	CreatedAt time.Time         `json:"created_at"`
	Images    map[string]string `json:"images"` // by service
	Reason    string            `json:"reason,omitempty"`
	Message   string            `json:"message,omitempty"`
	// ProviderMessage is what the provider said of the failure.
	ProviderMessage string `json:"provider_message,omitempty"`
}

// BackendReleaseList is the releases of a lease, newest first.
type BackendReleaseList struct {
	LeaseUUID string           `json:"lease_uuid"`
	Releases  []BackendRelease `json:"releases"`
}

// BackendCallbacks is how it stands with the callbacks of a lease.
type BackendCallbacks struct {
	// Target is where they go, without the path, which may be a secret.
	Target  string `json:"target,omitempty"`
	Pending int    `json:"pending"`
	GivenUp uint64 `json:"given_up"`
	// Of the one that is next. NextTry is zero for at once.
	CreatedAt time.Time `json:"created_at,omitzero"`
	Attempts  int       `json:"attempts,omitempty"`
	NextTry   time.Time `json:"next_try,omitzero"`
	LastError string    `json:"last_error,omitempty"`
}

// BackendRetention is what a lease left: its data is retained, is being restored to
// another lease, or is being removed.
type BackendRetention struct {
	LeaseUUID string        `json:"lease_uuid"` // that left it
	CreatedAt time.Time     `json:"created_at"` // of that lease
	Tenant    string        `json:"tenant,omitempty"`
	Items     []BackendItem `json:"items,omitempty"`
	BackendVolumeSet
}

// BackendRetentionList is what leases left.
type BackendRetentionList struct {
	Retentions []BackendRetention `json:"retentions"`
	// Continue asks for the next page; "" is that there is none.
	Continue string `json:"continue,omitempty"`
}

// BackendLogs is the last lines of each container, by "service/index".
type BackendLogs map[string]string

// BackendDrain is whether a backend takes leases.
type BackendDrain struct {
	On    bool      `json:"on"`
	Since time.Time `json:"since,omitzero"` // it is on
}

// BackendDrainRequest has a backend take no lease, or take them again.
type BackendDrainRequest struct {
	On *bool `json:"on"` // it has to be there
}

// BackendStatus is a backend as a whole.
type BackendStatus struct {
	Name    string       `json:"name"`
	Version string       `json:"version"`
	Healthy bool         `json:"healthy"`
	Error   string       `json:"error,omitempty"` // why it is not healthy
	Drain   BackendDrain `json:"drain"`
	// Notes are promises that are not kept, such as a disk that is not enforced, and what
	// is waited for.
	Notes    []string        `json:"notes,omitempty"`
	Leases   map[string]int  `json:"leases"` // how many, by status
	Capacity BackendCapacity `json:"capacity"`
}

// BackendCapacity is what leases may hold in all, and what they hold. It is that of
// the settings, also while the backend is drained.
type BackendCapacity struct {
	CPUCores       BackendShare `json:"cpu_cores"`
	MemoryMB       BackendShare `json:"memory_mb"`
	DiskMB         BackendShare `json:"disk_mb"`
	RetainedDiskMB int64        `json:"retained_disk_mb"` // part of what is allocated
	Containers     int          `json:"containers"`
}

// BackendShare is one kind of capacity.
type BackendShare struct {
	Total     float64 `json:"total"`
	Allocated float64 `json:"allocated"`
	Available float64 `json:"available"`
}
