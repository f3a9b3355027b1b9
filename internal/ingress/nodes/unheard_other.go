//go:build !linux

package nodes

import "net"

// boundUnheard cannot be done here: the kernel's own patience is the bound.
func boundUnheard(*net.TCPConn) { _ = unheard }
