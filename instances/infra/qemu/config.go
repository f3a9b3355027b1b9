package qemu

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// Kind is what the provider calls itself.
const Kind = "qemu"

// DefaultName is the image, the type and the network of a request that names none.
const DefaultName = "default"

// UserHost is the host's loopback, as a machine of a user-mode network reaches it.
const UserHost = "10.0.2.2"

// What runs the machines' instructions.
const (
	TCG = "tcg" // software
	KVM = "kvm" // the processor
)

// Defaults and bounds of a Config.
const (
	DefaultDetach      = "/usr/bin/setsid"
	DefaultStopGrace   = 30 * time.Second
	DefaultMaxMachines = 32
	minStopGrace       = 100 * time.Millisecond
	maxStopGrace       = 10 * time.Minute
	maxMachines        = 10_000
)

// DefaultType is the size of a machine where a Config has none.
var DefaultType = Type{CPUs: 2, MemoryMiB: 1024}

// Config is how a provider makes machines. The zero value of each optional field
// is its default.
type Config struct {
	// Dir holds the machines' folders, of all owners; an absolute path, made when
	// missing. Required.
	Dir string
	// Program is qemu-system-x86_64 by absolute path. Required.
	Program string
	// Detach is util-linux's setsid by absolute path, by which a machine becomes
	// nobody's child; empty means DefaultDetach.
	Detach string
	// ImageTool is qemu-img by absolute path. Required when an image has a disk.
	ImageTool string
	// Accelerator is TCG, the default, or KVM.
	Accelerator string
	// Images are what machines boot, by the name that a request's argument "image"
	// has. Required.
	Images map[string]Image
	// Types are sizes by name. Empty means DefaultType as DefaultName.
	Types map[string]Type
	// Networks are what a request's subnet names. Empty means user-mode as
	// DefaultName.
	Networks map[string]Network
	// MaxMachines is how many an owner may have; 0 means DefaultMaxMachines.
	MaxMachines int
	// StopGrace is how long a machine may take to power off when it is deleted;
	// 0 means DefaultStopGrace.
	StopGrace time.Duration
}

// Image is what a machine boots: a disk with a boot loader, a kernel, or both, the
// kernel then finding its root on the disk, which is /dev/vda. All are absolute paths.
type Image struct {
	Disk string `json:"disk,omitempty"`
	// Format is that of Disk: raw or qcow2. Required with a disk, as a guess from
	// what a guest may have written is none.
	Format string `json:"format,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	Initrd string `json:"initrd,omitempty"`
	// Append is the kernel's command line.
	Append string `json:"append,omitempty"`
}

// Type is the size of a machine.
type Type struct {
	CPUs      int `json:"cpus"`       // 1 to 64
	MemoryMiB int `json:"memory_mib"` // 64 to 1 Mi
	// DiskMiB is the disk's size; 0 means the image's.
	DiskMiB int `json:"disk_mib,omitempty"`
}

// Network is what a machine's one card is plugged into.
type Network struct {
	// Bridge is one of the host; empty means user-mode. See doc.go for what a
	// machine reaches then.
	Bridge string `json:"bridge,omitempty"`
}

func (c Config) withDefaults() Config {
	if c.Accelerator == "" {
		c.Accelerator = TCG
	}
	if c.Detach == "" {
		c.Detach = DefaultDetach
	}
	if len(c.Types) == 0 {
		c.Types = map[string]Type{DefaultName: DefaultType}
	}
	if len(c.Networks) == 0 {
		c.Networks = map[string]Network{DefaultName: {}}
	}
	if c.MaxMachines == 0 {
		c.MaxMachines = DefaultMaxMachines
	}
	if c.StopGrace == 0 {
		c.StopGrace = DefaultStopGrace
	}
	return c
}

var (
	// imageID is never a path here: it is what the file of machines calls an image.
	imageID = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,254}$`)
	word    = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)
	bridge  = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,14}$`) // a Linux interface
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", infra.ErrInvalidRequest, fmt.Errorf(format, args...))
}

func (c Config) validate() error {
	for _, must := range []struct{ name, path string }{{"dir", c.Dir}, {"program", c.Program}, {"detach", c.Detach}} {
		if !filepath.IsAbs(must.path) {
			return invalid("%s is %q; it must be an absolute path", must.name, must.path)
		}
	}
	if c.Accelerator != TCG && c.Accelerator != KVM {
		return invalid("accelerator is %q; it can be %s or %s", c.Accelerator, TCG, KVM)
	}
	if c.MaxMachines < 1 || c.MaxMachines > maxMachines {
		return invalid("max_machines is %d; it must be 1 to %d", c.MaxMachines, maxMachines)
	}
	if c.StopGrace < minStopGrace || c.StopGrace > maxStopGrace {
		return invalid("stop_grace is %v; it must be %v to %v", c.StopGrace, minStopGrace, maxStopGrace)
	}
	if len(c.Images) == 0 {
		return invalid("images is empty; a machine must boot something")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Images)) {
		if err := c.validateImage(name, c.Images[name]); err != nil {
			return err
		}
	}
	return c.validateSizes()
}

func (c Config) validateImage(name string, i Image) error {
	if !imageID.MatchString(name) {
		return invalid("image %q is not letters, digits, dots, dashes, underscores and slashes", name)
	}
	for _, path := range []string{i.Disk, i.Kernel, i.Initrd} {
		if path != "" && !filepath.IsAbs(path) {
			return invalid("image %s has %q; it must be an absolute path", name, path)
		}
	}
	switch {
	case i.Disk == "" && i.Kernel == "":
		return invalid("image %s has neither a disk nor a kernel", name)
	case i.Disk != "" && i.Format != "raw" && i.Format != "qcow2":
		return invalid("image %s has a disk of format %q; it can be raw or qcow2", name, i.Format)
	case i.Disk == "" && i.Format != "":
		return invalid("image %s has a format and no disk", name)
	case i.Kernel == "" && (i.Initrd != "" || i.Append != ""):
		return invalid("image %s has an initrd or a command line, and no kernel", name)
	case strings.ContainsRune(i.Append, 0):
		return invalid("image %s has a command line with a zero byte", name)
	case i.Disk != "" && !filepath.IsAbs(c.ImageTool):
		return invalid("image_tool is %q; image %s has a disk, which needs qemu-img by its absolute path", c.ImageTool, name)
	}
	return nil
}

func (c Config) validateSizes() error {
	for _, name := range slices.Sorted(maps.Keys(c.Types)) {
		t := c.Types[name]
		switch {
		case !word.MatchString(name):
			return invalid("type %q is not lower-case letters, digits, dots, dashes and underscores", name)
		case t.CPUs < 1 || t.CPUs > 64:
			return invalid("type %s has %d cpus; it can have 1 to 64", name, t.CPUs)
		case t.MemoryMiB < 64 || t.MemoryMiB > 1<<20:
			return invalid("type %s has memory_mib %d; it can be 64 to %d", name, t.MemoryMiB, 1<<20)
		case t.DiskMiB < 0 || t.DiskMiB > 64<<20:
			return invalid("type %s has disk_mib %d; it can be 0, the image's, to %d", name, t.DiskMiB, 64<<20)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Networks)) {
		b := c.Networks[name].Bridge
		if !word.MatchString(name) {
			return invalid("network %q is not lower-case letters, digits, dots, dashes and underscores", name)
		}
		if b != "" && !bridge.MatchString(b) {
			return invalid("network %s has the bridge %q, which is no name of an interface", name, b)
		}
	}
	return nil
}

// network finds the network of a request's subnet.
func (c Config) network(subnetID string) (Network, error) {
	return pick("subnet", c.Networks, subnetID)
}

// pick finds what a request names.
func pick[T any](what string, from map[string]T, name string) (T, error) {
	if name == "" {
		name = DefaultName
	}
	found, ok := from[name]
	if !ok {
		have := strings.Join(slices.Sorted(maps.Keys(from)), ", ")
		return found, invalid("there is no %s %q; there are %s", what, name, have)
	}
	return found, nil
}
