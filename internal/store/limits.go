package store

const (
	// MaxKeptLogBytes bounds the lines of one kept log.
	MaxKeptLogBytes = 1 << 20
	// MaxKeptLogs is how many kept logs a service has at most.
	MaxKeptLogs = 20
	// MinTraceKept is how many trace events of each service of an attempt
	// [Store].Prune leaves at least.
	MinTraceKept = 256
)
