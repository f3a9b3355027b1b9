package sku

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrConfig is what the error of a catalogue that cannot be is.
var ErrConfig = errors.New("the SKUs are not valid")

// Config is what an operator says.
type Config struct {
	// Profiles are the tiers; at least one.
	Profiles []Profile
	// Mapping says which SKU stands for which tier. Each tier has at least one.
	Mapping []Mapping
	// DiskEnforcement is who keeps a disk to its size.
	DiskEnforcement DiskEnforcement
}

// Profile is a tier as it is written.
type Profile struct {
	Name     string  // up to MaxNameBytes letters, digits and . _ -
	CPUCores float64 // with up to three decimals
	MemoryMB int64
	DiskMB   int64 // 0 is no disk
}

// Mapping is a SKU with the tier that it stands for.
type Mapping struct {
	SKU     string // a UUID in the form with four hyphens
	Profile string
}

// DiskEnforcement is who keeps a disk to its size.
type DiskEnforcement string

const (
	// DiskRefused, the zero value, takes no tier that has a disk: nothing would keep
	// a tenant to it.
	DiskRefused DiskEnforcement = ""
	// DiskUnenforced takes them all the same. What a tenant may hold is counted, what
	// he writes is not.
	DiskUnenforced DiskEnforcement = "none"
)

// Bounds of a configuration.
const (
	MaxNameBytes = 63
	MaxProfiles  = 1000
	MaxMappings  = 10_000
)

// problems gathers everything that is wrong, up to a bound.
type problems struct {
	lines []string
	more  int
}

func (p *problems) add(path, format string, args ...any) {
	const most = 100
	if len(p.lines) == most {
		p.more++
		return
	}
	p.lines = append(p.lines, path+" "+fmt.Sprintf(format, args...))
}

// err is nil where nothing was added.
func (p *problems) err() error {
	if len(p.lines) == 0 {
		return nil
	}
	lines := slices.Clone(p.lines)
	if p.more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", p.more))
	}
	return fmt.Errorf("%w:\n  %s", ErrConfig, strings.Join(lines, "\n  "))
}

// Starter is four tiers to begin with. Each has a disk, so that they need
// DiskUnenforced as long as nothing enforces one.
func Starter() []Profile {
	return []Profile{
		{Name: "micro", CPUCores: 0.25, MemoryMB: 256, DiskMB: 512},
		{Name: "small", CPUCores: 0.5, MemoryMB: 512, DiskMB: 1024},
		{Name: "medium", CPUCores: 1, MemoryMB: 1024, DiskMB: 2048},
		{Name: "large", CPUCores: 2, MemoryMB: 2048, DiskMB: 4096},
	}
}
