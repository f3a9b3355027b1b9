package wire

// ApplyRequest asks that an app become what its app.yaml says.
type ApplyRequest struct {
	Source   string `json:"source" doc:"The text of app.yaml."`
	Filename string `json:"filename,omitempty" doc:"Name of the file, used in messages." maxLength:"1024"`
	App      string `json:"app,omitempty" doc:"Refuse the file unless it describes this app." maxLength:"128"`
	DryRun   bool   `json:"dry_run,omitempty" doc:"Answer with the plan and change nothing."`
	// Base makes the change conditional on what the caller has seen.
	Base           Base `json:"base,omitempty" doc:"Generations of the app's services that the caller decided on, by full name, as the plan of a dry run gives them. The change is refused when any differs."`
	AllowInterrupt bool `json:"allow_interrupt,omitempty" doc:"Accept a change that interrupts a service."`
	AllowRemove    bool `json:"allow_remove,omitempty" doc:"Accept that services which are no longer in the file are removed."`
	Refresh        bool `json:"refresh,omitempty" doc:"Look up the images of unchanged services again, so that a tag which has moved is rolled out."`
}

// Base maps the full names of services to the generation a caller has seen; 0
// stands for a service that did not exist.
type Base map[string]int64

// Action is what a change does to one service.
type Action string

// The actions.
const (
	ActionCreate    Action = "create"    // it did not exist
	ActionUpdate    Action = "update"    // new containers take over
	ActionScale     Action = "scale"     // only the number of replicas changes
	ActionRoute     Action = "route"     // only routes or timings change; no release is made
	ActionRetry     Action = "retry"     // nothing changed, but the last attempt failed or the image is looked up again
	ActionRestart   Action = "restart"   // new containers of the same take over
	ActionDelete    Action = "delete"    // its containers go
	ActionUnchanged Action = "unchanged" // nothing to do
)

// Plan is what a request would change, decided before anything is.
type Plan struct {
	App      string        `json:"app"`
	Services []ServicePlan `json:"services" nullable:"false" doc:"One per service, sorted by name."`
	// Changes is false when every service is unchanged and the app stays.
	Changes    bool `json:"changes" doc:"Whether anything would change."`
	Interrupts bool `json:"interrupts" doc:"Whether a service would not answer for a while."`
	Removes    bool `json:"removes" doc:"Whether a running service would be removed."`
	Base       Base `json:"base" doc:"Generations that the plan was made from; send them with the change."`
	// OpenAttempt is an earlier attempt on the app that still goes on; 0: none.
	OpenAttempt int64 `json:"open_attempt,omitempty" doc:"An earlier attempt on this app that has not finished."`
}

// ServicePlan is what happens to one service.
type ServicePlan struct {
	Service string        `json:"service" doc:"Short name, as in app.yaml."`
	Name    string        `json:"name" doc:"Full name: app, a hyphen, service."`
	Action  Action        `json:"action" enum:"create,update,scale,route,retry,restart,delete,unchanged"`
	Changes []FieldChange `json:"changes,omitempty" doc:"Fields that differ."`
	// Interrupts says how users of the service would feel the change; empty:
	// not at all.
	Interrupts []Interruption `json:"interrupts,omitempty" doc:"How users of the service would feel the change; empty when they would not."`
	Notices    []string       `json:"notices,omitempty" doc:"What is worth knowing before the change."`
	// KeptVolumes stay although the service is deleted.
	KeptVolumes []KeptVolume `json:"kept_volumes,omitempty" doc:"Volumes that stay when the service is deleted."`
}

// KeptVolume is a volume that stays without its service.
type KeptVolume struct {
	Name   string `json:"name" doc:"As in app.yaml."`
	Engine string `json:"engine" doc:"Name that the container engine knows it by."`
}

// Interruption is one way in which users of a service feel a change.
type Interruption struct {
	Kind string `json:"kind" doc:"handover: the old containers stop before the new ones start; route: requests are no longer answered; port: a published port closes or leads elsewhere."`
	Why  string `json:"why" doc:"A clause for people."`
}

// HiddenValue stands in a plan for a value that may be confidential.
const HiddenValue = "(hidden)"

// FieldChange is one field of a service that differs. Both values are texts
// for people, empty where there is none.
type FieldChange struct {
	Field string `json:"field" doc:"Path of the field as in app.yaml."`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
	// Private values, such as those of variables, are replaced by HiddenValue.
	Private bool `json:"private,omitempty" doc:"The values may be confidential and are not shown."`
}

// ChangeResult answers every request that changes an app.
type ChangeResult struct {
	Plan Plan `json:"plan"`
	// Attempt is nil when it was a dry run or nothing was to change.
	Attempt *Attempt `json:"attempt,omitempty" doc:"The attempt that carries the change out."`
}

// RollbackRequest asks that a service run an earlier release again.
type RollbackRequest struct {
	Service        string `json:"service" doc:"Short name of the service." minLength:"1" maxLength:"128"`
	Release        string `json:"release,omitempty" doc:"\"v3\", \"3\", a release id, or \"previous\" (the default): the release that served before." maxLength:"256"`
	DryRun         bool   `json:"dry_run,omitempty" doc:"Answer with the plan and change nothing."`
	Base           Base   `json:"base,omitempty" doc:"As in a change by apply."`
	AllowInterrupt bool   `json:"allow_interrupt,omitempty" doc:"Accept a rollback that interrupts the service."`
}

// RestartRequest asks that every container of services be replaced by a new one
// of the same image and spec.
type RestartRequest struct {
	Services       []string `json:"services,omitempty" doc:"Short names of the services; none: all of the app." maxItems:"50"`
	DryRun         bool     `json:"dry_run,omitempty" doc:"Answer with the plan and change nothing."`
	Base           Base     `json:"base,omitempty" doc:"As in a change by apply."`
	AllowInterrupt bool     `json:"allow_interrupt,omitempty" doc:"Accept a restart that interrupts a service."`
}

// ScaleRequest asks for other numbers of replicas.
type ScaleRequest struct {
	Replicas map[string]int `json:"replicas" doc:"Replicas by the short name of the service." minProperties:"1" maxProperties:"50"`
	DryRun   bool           `json:"dry_run,omitempty" doc:"Answer with the plan and change nothing."`
	Base     Base           `json:"base,omitempty" doc:"As in a change by apply."`
	// AllowInterrupt is needed when a change that has not come up yet is part of it.
	AllowInterrupt bool `json:"allow_interrupt,omitempty" doc:"Accept that a service is interrupted."`
}
