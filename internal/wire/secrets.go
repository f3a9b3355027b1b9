package wire

import (
	"slices"
	"time"
)

// MaxSecretBytes bounds the value of a secret.
const MaxSecretBytes = 1 << 20

// Secret describes a value that an app's services and workloads may ask for. The
// value itself is in no answer.
type Secret struct {
	Name      string    `json:"name"`
	Set       bool      `json:"set" doc:"Whether it has a value; false: something names it and it has none."`
	Version   int64     `json:"version,omitempty" doc:"Number of the newest value."`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	UsedBy    []string  `json:"used_by,omitempty" doc:"Short names of the services that name it."`
	// UsedByWorkloads are apart from UsedBy: a workload takes a new value with the
	// next apply of its file, and a restart of it brings none.
	UsedByWorkloads []string `json:"used_by_workloads,omitempty" doc:"Workloads that name it, each as WORKLOAD/SERVICE."`
	// Required is false while everything that names it does without.
	Required bool `json:"required,omitempty" doc:"A service or a workload that names it does not start without it."`
	// NeededBy are those for whose sake it is required, for people: "web",
	// "workload shop/web".
	NeededBy []string `json:"needed_by,omitempty" doc:"Those that do not start without it, as texts."`
}

// Users are all that name it, for people: "web", "workload shop/web".
func (s Secret) Users() []string {
	out := slices.Clone(s.UsedBy)
	for _, w := range s.UsedByWorkloads {
		out = append(out, WorkloadUser(w))
	}
	return out
}

// WorkloadUser is a service of a workload, WORKLOAD/SERVICE, beside services of apps.
func WorkloadUser(name string) string { return "workload " + name }

// SecretList is the secrets of an app, sorted by name.
type SecretList struct {
	Secrets []Secret `json:"secrets" nullable:"false"`
}
