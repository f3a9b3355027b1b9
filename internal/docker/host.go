package docker

import (
	"fmt"
	"regexp"
)

// maxHostname is the kernel's bound on a hostname, in bytes.
const maxHostname = 64

var hostname = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$`)

// CheckNames refuses, with ErrInvalid, a hostname or a host entry that an
// engine would take and then stumble over, or write into the container's hosts
// file as something else.
func (s *ContainerSpec) CheckNames() error {
	if s.Hostname != "" && (len(s.Hostname) > maxHostname || !hostname.MatchString(s.Hostname)) {
		return fmt.Errorf("%w: hostname %q", ErrInvalid, s.Hostname)
	}
	for _, h := range s.Hosts {
		if !hostname.MatchString(h.Name) {
			return fmt.Errorf("%w: name %q of a host entry", ErrInvalid, h.Name)
		}
		if !h.Address.IsValid() || h.Address.Zone() != "" {
			return fmt.Errorf("%w: address %q of host entry %s", ErrInvalid, h.Address, h.Name)
		}
	}
	return nil
}
