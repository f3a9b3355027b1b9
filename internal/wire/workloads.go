package wire

import "time"

// WorkloadApplyRequest asks that a workload become what its file says.
type WorkloadApplyRequest struct {
	Source   string `json:"source" doc:"The text of the workload file."`
	Filename string `json:"filename,omitempty" doc:"Name of the file, used in messages." maxLength:"1024"`
	// Files are in the request and in nothing that answers it.
	Files    map[string][]byte `json:"files,omitempty" doc:"Contents of the config files that the file names by \"file\", in base64, by that name." maxProperties:"64"`
	Provider string            `json:"provider,omitempty" doc:"In place of the provider that the file names." maxLength:"128"`
	DryRun   bool              `json:"dry_run,omitempty" doc:"Answer with what would change and change nothing."`
	Notes    string            `json:"notes,omitempty" doc:"Kept with the release." maxLength:"1024"`
}

// WorkloadAction is what a change does to a workload.
type WorkloadAction string

// The actions.
const (
	WorkloadCreate    WorkloadAction = "create"    // it did not exist, or its first release never served
	WorkloadDeploy    WorkloadAction = "deploy"    // a release takes over
	WorkloadRollback  WorkloadAction = "rollback"  // an earlier release takes over
	WorkloadUnderWay  WorkloadAction = "under_way" // an earlier request for the very same is being carried out
	WorkloadUnchanged WorkloadAction = "unchanged" // it is what was asked for
)

// WorkloadChange answers a request that changes what a workload runs.
type WorkloadChange struct {
	Name     string                `json:"name"`
	ID       string                `json:"id,omitempty" doc:"None in a dry run of a workload that does not exist."`
	Provider string                `json:"provider"`
	Action   WorkloadAction        `json:"action" enum:"create,deploy,rollback,under_way,unchanged"`
	Changes  []WorkloadFieldChange `json:"changes,omitempty" doc:"What differs from what serves."`
	Notices  []string              `json:"notices,omitempty" doc:"What is worth knowing."`
	// Rollout is nil when it was a dry run or nothing was to change.
	Rollout *WorkloadRollout `json:"rollout,omitempty" doc:"The rollout that carries the change out."`
}

// WorkloadFieldChange is one field of a service that is set or differs. Values that
// may be confidential are replaced by HiddenValue; a Service of "" is the workload
// as a whole.
type WorkloadFieldChange struct {
	Service string `json:"service"`
	Field   string `json:"field" doc:"Key of the field as in the workload file."`
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
}

// WorkloadDeployRequest asks for other images of services.
type WorkloadDeployRequest struct {
	Images   map[string]string `json:"images" doc:"Images by service. Services that are not named stay as they are." minProperties:"1" maxProperties:"32"`
	Strategy string            `json:"strategy,omitempty" doc:"blue-green, rolling, recreate or canary; empty: the provider's choice." maxLength:"32"`
	Notes    string            `json:"notes,omitempty" doc:"Kept with the release." maxLength:"1024"`
	DryRun   bool              `json:"dry_run,omitempty" doc:"Answer with what would change and change nothing."`
}

// WorkloadRollbackRequest asks for an earlier release.
type WorkloadRollbackRequest struct {
	Release string `json:"release,omitempty" doc:"\"v3\", \"3\", the id of a release, or \"previous\" (the default): the one that served before." maxLength:"128"`
	DryRun  bool   `json:"dry_run,omitempty" doc:"Answer with what would change and change nothing."`
}

// WorkloadScaleRequest asks for another size of the main service. What is 0 stays.
type WorkloadScaleRequest struct {
	Replicas  int `json:"replicas,omitempty" minimum:"0" maximum:"1000"`
	CPUMillis int `json:"cpu_millis,omitempty" minimum:"0" maximum:"1024000" doc:"Thousandths of a core, for each container."`
	MemoryMB  int `json:"memory_mb,omitempty" minimum:"0" maximum:"1073741824" doc:"Mebibytes, for each container."`
}

// WorkloadAccepted answers a request to scale, start, stop, restart or delete a
// workload.
type WorkloadAccepted struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	Verb string `json:"verb" enum:"scale,start,stop,restart,delete"`
	// Done is false while the provider still works on it; the status of the
	// workload says how it ends.
	Done bool `json:"done" doc:"The provider has taken it in; false: it is still at it."`
}

// WorkloadList is all workloads, sorted by name.
type WorkloadList struct {
	Workloads []WorkloadStatus `json:"workloads" nullable:"false"`
}

// WorkloadStatus is everything known about a workload: what was recorded, and what
// its provider observes now.
type WorkloadStatus struct {
	Name      string `json:"name"`
	ID        string `json:"id"`
	Provider  string `json:"provider"`
	Kind      string `json:"kind" enum:"deployment,stateful_set"`
	State     string `json:"state" doc:"provisioning, starting, running, stopping, stopped, failed or destroying; unknown while the provider does not answer."`
	Ready     bool   `json:"ready" doc:"Everything that was asked for last is ready."`
	Available bool   `json:"available" doc:"At least one group is ready, of whichever release."`
	Reason    string `json:"reason,omitempty" doc:"For programs; empty when nothing is amiss."`
	Message   string `json:"message,omitempty" doc:"For people; may have several lines."`
	Restarts  int    `json:"restarts"`

	Release   string             `json:"release,omitempty" doc:"Version of the release that serves, such as v3."`
	Replicas  int                `json:"replicas" doc:"Groups that there are of the main service."`
	Serving   int                `json:"serving" doc:"How many of them are ready."`
	Services  []WorkloadService  `json:"services" nullable:"false" doc:"Sorted by name."`
	Endpoints []WorkloadEndpoint `json:"endpoints,omitempty"`

	Rollout   *WorkloadRollout `json:"rollout,omitempty" doc:"The newest rollout."`
	Trouble   *WorkloadTrouble `json:"trouble,omitempty" doc:"The last request whose work failed after it was answered."`
	CreatedAt time.Time        `json:"created_at"`
	StartedAt time.Time        `json:"started_at,omitzero" doc:"When the oldest running container started."`
}

// WorkloadTrouble is a request whose work failed after the answer.
type WorkloadTrouble struct {
	Verb    string    `json:"verb"`
	At      time.Time `json:"at"`
	Message string    `json:"message"`
}

// WorkloadService is one service over all replicas.
type WorkloadService struct {
	Service  string            `json:"service"`
	Role     string            `json:"role" enum:"main,sidecar,init"`
	Image    string            `json:"image,omitempty" doc:"As asked for, in the release that serves."`
	State    string            `json:"state"`
	Ready    bool              `json:"ready"`
	Restarts int               `json:"restarts"`
	Reason   string            `json:"reason,omitempty"`
	Message  string            `json:"message,omitempty"`
	Replicas []WorkloadReplica `json:"replicas" nullable:"false" doc:"Sorted by index."`
}

// WorkloadReplica is one container.
type WorkloadReplica struct {
	Replica   int       `json:"replica"`
	State     string    `json:"state"`
	Ready     bool      `json:"ready"`
	Restarts  int       `json:"restarts"`
	Ref       string    `json:"ref,omitempty" doc:"The orchestrator's own handle."`
	Reason    string    `json:"reason,omitempty"`
	Message   string    `json:"message,omitempty"`
	ExitCode  *int      `json:"exit_code,omitempty" doc:"Once it has ended."`
	StartedAt time.Time `json:"started_at,omitzero"`
}

// WorkloadEndpoint is one way in.
type WorkloadEndpoint struct {
	Service  string `json:"service,omitempty"`
	URL      string `json:"url"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol,omitempty"`
	Public   bool   `json:"public" doc:"Reachable from outside of the host or cluster."`
	Replica  *int   `json:"replica,omitempty" doc:"The replica that answers; none: any of them may."`
}
