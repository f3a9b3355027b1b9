package provider

// Bounds of a request. What is beyond is ErrInvalid.
const (
	// MaxNameLength is the length of a service's or volume's name.
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
