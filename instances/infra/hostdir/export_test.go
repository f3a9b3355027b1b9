package hostdir

// IsAt is what a lock that was taken is asked before it counts.
var IsAt = isAt
