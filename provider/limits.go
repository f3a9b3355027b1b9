package provider

// Bounds of a request. What is beyond is ErrInvalid.
const (
	// MaxServiceNameLength is the length of a service's name, and of a workload's: that
	// of a label of DNS.
	MaxServiceNameLength = 63

	// MaxStatefulNameLength is the length of the name that the replicas of a stateful
	// set are resolved by, which "-0" to "-999" follows: the workload's, or without one
	// that of its main service.
	MaxStatefulNameLength = MaxServiceNameLength - len("-999")

	// MaxNameLength is the length of the name of a volume, a config file or a network.
	MaxNameLength = 40

	// MaxVolumeIDLength is the length of an id in VolumeSpec.IDs.
	MaxVolumeIDLength = 63

	// MaxServices is the number of services of a workload.
	MaxServices = 32

	// MaxEntries is the number of entries of each list and map of a service:
	// variables, ports, volumes, arguments and so on.
	MaxEntries = 256

	// MaxReplicas is the number of groups of a workload.
	MaxReplicas = 1000

	// MaxConfigFileSize is the size of a config file's content in bytes.
	MaxConfigFileSize = 512 << 10
)
