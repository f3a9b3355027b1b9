package wire

import "time"

// Container is one container of a service as the engine has it now.
type Container struct {
	App      string `json:"app"`
	Service  string `json:"service" doc:"Short name."`
	Replica  int    `json:"replica"`
	Member   string `json:"member" doc:"main, or the name of an init or a sidecar."`
	Role     string `json:"role,omitempty" enum:"init,sidecar" doc:"What it is in its replica; none: the main container."`
	Release  string `json:"release,omitempty" doc:"Version, such as v3."`
	Name     string `json:"container" doc:"Name that the engine knows it by."`
	ID       string `json:"id"`
	State    string `json:"state" doc:"The engine's word: created, running, paused, restarting, removing, exited or dead."`
	ExitCode *int   `json:"exit_code,omitempty" doc:"Of the last end, when it does not run."`
	// OOMKilled is meaningful beside ExitCode.
	OOMKilled bool      `json:"oom_killed,omitempty" doc:"It ended because it had used up its memory."`
	Restarts  int       `json:"restarts" doc:"How often the engine has restarted it."`
	CreatedAt time.Time `json:"created_at"`
	StartedAt time.Time `json:"started_at,omitzero"`
	Address   string    `json:"address,omitempty" doc:"Where it listens on the app's network."`
	Node      string    `json:"node,omitempty" doc:"Id of the node that it is on; none: the machine of the control plane."`
	Away      bool      `json:"away,omitempty" doc:"Its node cannot be asked now: this is how it was last seen there."`
	// Serves is true for what the active release is made of.
	Serves bool `json:"serves" doc:"It belongs to the release that serves."`
	// Traffic is true for a ready main container of the active release.
	Traffic bool `json:"traffic" doc:"It is ready and its replica takes part: requests go to it, if its service has any."`
}

// ContainerList is the containers of one app or of all, ordered by app, service,
// release, replica and member.
type ContainerList struct {
	Containers []Container `json:"containers" nullable:"false"`
}
