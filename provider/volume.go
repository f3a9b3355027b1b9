package provider

// VolumeSpec mounts a volume that outlives the container. Volumes of one name
// within a group are one volume; they go with Deprovision and with nothing else,
// but for those that IDs names, which stay.
type VolumeSpec struct {
	// Name is a DNS label of at most MaxNameLength characters.
	Name string `json:"name"`

	// MountPath is absolute and clean, and not "/".
	MountPath string `json:"mount_path"`

	// SizeMB is in units of 1024*1024 bytes; zero is no limit.
	SizeMB int `json:"size_mb"`

	// Type is a class of storage that the orchestrator knows; empty is its own
	// choice.
	Type string `json:"type"`

	// Shared allows more than one running container to write. Without it the
	// provider never lets two containers that may write hold the volume.
	Shared bool `json:"shared,omitempty"`

	// ReadOnly mounts it so that this service cannot write.
	ReadOnly bool `json:"read_only,omitempty"`

	// IDs name volumes that are the tenant's and not the instance's, the first one
	// for the first replica and so on: see VolumeKeeper. One that is not there is
	// made, and marked with its tenant and id. There are at least as many as
	// replicas, each once in an instance, and only a stateful set of a tenant has
	// them: anything else is ErrInvalid, a Scale beyond their number too. An id is a
	// DNS label of at most MaxVolumeIDLength characters, unique within the tenant. A
	// Deploy may name other ones, but none that is another replica's, and a Rollback
	// goes back to those of its release.
	//
	// While a running container of one instance may write such a volume, none of
	// another instance that may write it starts, whatever Shared says: that one waits
	// with ReasonVolumeInUse.
	IDs []string `json:"ids,omitempty"`
}

// TmpfsSpec is a directory in memory.
type TmpfsSpec struct {
	// MountPath is absolute and clean, and not "/".
	MountPath string `json:"mount_path"`

	// SizeMB is in units of 1024*1024 bytes and counts as memory of the
	// container; zero is the orchestrator's default.
	SizeMB int `json:"size_mb,omitempty"`
}
