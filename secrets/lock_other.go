//go:build !unix

package secrets

import (
	"context"
	"os"
)

// lockFile does nothing: here one process at a time may use a Dir.
func lockFile(context.Context, *os.File) error { return nil }
