package wire

import "time"

// MaxSecretBytes bounds the value of a secret.
const MaxSecretBytes = 1 << 20

// Secret describes a value that an app's services may ask for. The value itself
// is in no answer.
type Secret struct {
	Name      string    `json:"name"`
	Set       bool      `json:"set" doc:"Whether it has a value; false: a service names it and it has none."`
	Version   int64     `json:"version,omitempty" doc:"Number of the newest value."`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	UsedBy    []string  `json:"used_by,omitempty" doc:"Short names of the services that name it."`
	// Required is false while every service that names it does without.
	Required bool `json:"required,omitempty" doc:"A service that names it does not start without it."`
}

// SecretList is the secrets of an app, sorted by name.
type SecretList struct {
	Secrets []Secret `json:"secrets" nullable:"false"`
}
