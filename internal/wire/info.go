package wire

import "time"

// Status is the state of the whole of Berth on this machine.
type Status struct {
	Instance     string    `json:"instance" doc:"Id of this Berth."`
	Version      string    `json:"version"`
	StartedAt    time.Time `json:"started_at"`
	Apps         int       `json:"apps"`
	Services     int       `json:"services"`
	Ready        int       `json:"ready" doc:"Services that are ready."`
	Tombstones   int       `json:"tombstones" doc:"Deleted services whose containers still have to go."`
	RouteVersion int64     `json:"route_version" doc:"Newest version of the route table."`
	Listeners    []string  `json:"listeners,omitempty" doc:"Where the data plane accepts requests."`
}

// Version names what answers.
type Version struct {
	Version  string `json:"version"`
	Go       string `json:"go" doc:"Go release it was built with."`
	Revision string `json:"revision,omitempty" doc:"Source revision it was built from."`
}

// CheckState is the outcome of one check of doctor.
type CheckState string

// The outcomes.
const (
	CheckOK      CheckState = "ok"
	CheckWarning CheckState = "warning" // works, but not as well as it should
	CheckFailed  CheckState = "failed"  // something does not work
	CheckSkipped CheckState = "skipped" // of a node: not looked at, because a hop before it failed
)

// Check is one thing that doctor looked at.
type Check struct {
	Name    string     `json:"name"`
	State   CheckState `json:"state" enum:"ok,warning,failed"`
	Message string     `json:"message" doc:"What was found."`
	Fix     string     `json:"fix,omitempty" doc:"What to do about it."`
}

// Doctor is the answer of doctor.
type Doctor struct {
	Checks []Check `json:"checks" nullable:"false"`
}

// Failed reports whether any check failed.
func (d Doctor) Failed() bool {
	for _, c := range d.Checks {
		if c.State == CheckFailed {
			return true
		}
	}
	return false
}
