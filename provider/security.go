package provider

// SecuritySpec changes what a container may do. The defaults are no new
// privileges, and a small set of capabilities that the driver documents. There is
// no way to ask for a privileged container, a namespace, a device or a path of the host.
type SecuritySpec struct {
	// ReadOnlyRootFS mounts the image read-only. Volumes and Tmpfs stay
	// writable.
	ReadOnlyRootFS bool `json:"read_only_root_fs,omitempty"`

	// CapAdd are Linux capabilities without the prefix, such as "NET_RAW". A
	// driver refuses those that its operator has not allowed.
	CapAdd []string `json:"cap_add,omitempty"`

	// CapDrop takes capabilities away; "ALL" takes all of them.
	CapDrop []string `json:"cap_drop,omitempty"`

	// NoNewPrivileges keeps set-user-ID programs from gaining rights; nil is
	// true. A driver may refuse false.
	NoNewPrivileges *bool `json:"no_new_privileges,omitempty"`

	// PidsLimit bounds the processes and threads of a container; zero is the
	// orchestrator's default.
	PidsLimit int64 `json:"pids_limit,omitempty"`
}

// IsZero reports whether s is the defaults.
func (s SecuritySpec) IsZero() bool {
	return !s.ReadOnlyRootFS && len(s.CapAdd) == 0 && len(s.CapDrop) == 0 && s.NoNewPrivileges == nil && s.PidsLimit == 0
}
