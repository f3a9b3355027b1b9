//go:build unix

package secrets

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner refuses a file that another user owns, who could open it to others.
func checkOwner(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("its owner is unknown")
	}
	return ownedBy(int(st.Uid), os.Geteuid())
}

func ownedBy(owner, us int) error {
	if owner != us {
		return fmt.Errorf("it belongs to user %d and this is user %d; chown it", owner, us)
	}
	return nil
}
