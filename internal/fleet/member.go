package fleet

import "time"

// Member is a machine that joined.
type Member struct {
	ID     string
	Name   string // for people; "" is ID
	Labels map[string]string
	Online bool
	Since  time.Time // since when it is online, or is not
	Gone   bool      // its provider or its record says so, in so many words
}
