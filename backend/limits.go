package backend

// Bounds of what a client reads of an answer, in bytes, unless its configuration has
// others. A larger answer is ErrResponseTooLarge.
const (
	DefaultMaxInfoBytes             int64 = 1 << 20
	DefaultMaxProvisionBytes        int64 = 1 << 20
	DefaultMaxProvisionsBytes       int64 = 8 << 20 // a page
	DefaultMaxLookupProvisionsBytes int64 = 8 << 20
	DefaultMaxLogsBytes             int64 = 16 << 20
	DefaultMaxReleasesBytes         int64 = 8 << 20
	DefaultMaxStatsBytes            int64 = 1 << 20
	DefaultMaxRetentionsBytes       int64 = 1 << 20 // a page

	// DefaultProvisionsPageLimit is how many leases a client asks for at once.
	DefaultProvisionsPageLimit = 1000
)

// MaxLookupUUIDs bounds how many leases one lookup may name; more are ErrValidation.
const MaxLookupUUIDs = 100

// MaxPageLimit bounds a page; a larger limit is taken as this one.
const MaxPageLimit = 5000

// MaxQuantity bounds the quantity of an item, and that of all items of a lease. More
// are ErrValidation.
const MaxQuantity = 1024

// MaxCallbackError bounds the words of a callback, in characters; longer ones are cut.
const MaxCallbackError = 256

// Bounds of the tail of GetLogs, in lines of each container.
const (
	DefaultLogTail = 100
	MaxLogTail     = 10000
)
