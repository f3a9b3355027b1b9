package dockertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// capabilities are those that kernels have and engines take.
var capabilities = strings.Fields(`ALL
	AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID
	IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN NET_BIND_SERVICE NET_BROADCAST NET_RAW
	PERFMON SETFCAP SETGID SETPCAP SETUID SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO
	SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG SYSLOG WAKE_ALARM`)

// checkHardening refuses capabilities and names that an engine refuses.
func checkHardening(spec docker.ContainerSpec) error {
	for _, name := range slices.Concat(spec.CapAdd, spec.CapDrop) {
		if !slices.Contains(capabilities, strings.TrimPrefix(strings.ToUpper(name), "CAP_")) {
			return fmt.Errorf("capability %q: %w", name, docker.ErrInvalid)
		}
	}
	return spec.CheckNames()
}
