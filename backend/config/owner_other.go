//go:build !unix

package config

import "io/fs"

// ownerOf: where files have no owning user, the mode has to do.
func ownerOf(fs.FileInfo) string { return "" }
