package backendtest

// Feature is something that a backend may do nothing for, as a mock does.
type Feature string

// The features. A backend in earnest has all of them; those of what is retained,
// when it retains.
const (
	// Validation: a request that can never succeed is refused when it comes.
	Validation Feature = "validation"

	// DeprovisionedCallback: the holder is told when a lease is gone.
	DeprovisionedCallback Feature = "deprovisioned callback"

	Restart       Feature = "restart"
	Update        Feature = "update"
	Logs          Feature = "logs"
	Releases      Feature = "releases"
	Load          Feature = "load" // GetLoadStats counts
	CustomDomains Feature = "custom domains"
	Retention     Feature = "retention" // the data of a lease that was ready is kept
	Restore       Feature = "restore"
)

// AllFeatures are for a fixture that lacks most.
func AllFeatures() []Feature {
	return []Feature{Validation, DeprovisionedCallback, Restart, Update, Logs, Releases, Load, CustomDomains, Retention, Restore}
}
