package manifest

import (
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider"
)

// Bounds of a document. What is beyond is backend.ErrInvalidManifest.
const (
	// MaxBytes is the size of a document.
	MaxBytes = 1 << 20

	// MaxValues is how many values a document has, those in lists and objects and
	// the lists and objects themselves counted too. It bounds the memory that a
	// document takes once it is read.
	MaxValues = 1 << 16

	// MaxDepth is how deep lists and objects stand in each other. No good document
	// has more than five.
	MaxDepth = 16

	// MaxServices is the number of services of a stack: a lease has no more of
	// anything.
	MaxServices = backend.MaxQuantity

	// MaxDependencyDepth is the number of dependencies in a row.
	MaxDependencyDepth = 10
)

// Bounds of a service.
const (
	// MaxServiceName is in characters: the name is a label of DNS. That of a service with
	// a disk has provider.MaxStatefulNameLength, see Stack.Workload.
	MaxServiceName = provider.MaxServiceNameLength

	MaxPorts     = 64
	MaxExpose    = 64
	MaxEnv       = 256
	MaxLabels    = 128
	MaxTmpfs     = 4
	MaxArguments = 256 // of the command, of the arguments and of a health check, each

	MinStopGrace = time.Second
	MaxStopGrace = 2 * time.Minute

	// MaxHealthDuration is the most of each duration of a health check.
	MaxHealthDuration = 24 * time.Hour
	// MaxRetries is the most that a health check may fail in a row.
	MaxRetries = 1000

	maxImage      = 512       // bytes
	maxName       = 253       // bytes of the name of a variable or label
	maxEnvValue   = 128 << 10 // bytes; what Linux takes as one string, about
	maxLabelValue = 4096      // bytes
	maxPath       = 1024      // bytes
	maxPort       = 65535
)

// What a document that says nothing means.
const (
	DefaultStopGrace     = 10 * time.Second
	DefaultHealthTimeout = 30 * time.Second
)
