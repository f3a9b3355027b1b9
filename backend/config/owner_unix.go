//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownerOf says which other user has a file, who could open it to all; "" when it is
// this one or root.
func ownerOf(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "its owner is unknown"
	}
	return ownedBy(int(st.Uid), os.Geteuid())
}

func ownedBy(owner, us int) string {
	if owner == us || owner == 0 {
		return ""
	}
	return fmt.Sprintf("it belongs to user %d and is read by user %d; run", owner, us)
}
