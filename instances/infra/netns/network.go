package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

// netnsDir is where iproute2 keeps named network namespaces.
const netnsDir = "/run/netns/"

func (r record) netns() string { return netnsDir + r.ProviderID }

// hasNetns reports whether the namespace of the record is there. What a call that
// was cut left of it is removed.
func (r record) hasNetns() (bool, error) {
	var st unix.Statfs_t
	err := unix.Statfs(r.netns(), &st)
	switch {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look at %s: %w", r.netns(), err)
	case st.Type == unix.NSFS_MAGIC:
		return true, nil
	}
	// A plain file: ip makes it first, and then puts the namespace there.
	return false, os.Remove(r.netns())
}

// hostLink reports whether the host's end is there. Another's link with its name
// is an error.
func (r record) hostLink() (bool, error) {
	links, err := net.Interfaces()
	if err != nil {
		return false, err
	}
	for _, l := range links {
		if l.Name != r.link() {
			continue
		}
		if !bytes.Equal(l.HardwareAddr, r.mac("host")) {
			return false, fmt.Errorf("%w: the host has a link %s that is not this machine's", infra.ErrUnavailable, l.Name)
		}
		return true, nil
	}
	return false, nil
}

// connect makes the machine's network, or what is missing of it.
func (r record) connect(ctx context.Context) []hostdir.Step {
	return []hostdir.Step{
		hostdir.Do("network", func() error { return r.addNetns(ctx) }),
		hostdir.Do("link", func() error { return r.addLink(ctx) }),
		hostdir.Do("forward", func() error { return r.forward(ctx) }),
		hostdir.Do("host's address", func() error {
			lines := fmt.Sprintf("addr replace %v/%d dev %s\nlink set %s up\n", r.hostAddr(), linkBits, r.link(), r.link())
			_, err := command(ctx, lines, "ip", "-batch", "-")
			return err
		}),
		hostdir.Do("machine's address", func() error {
			lines := fmt.Sprintf("link set lo up\naddr replace %v/%d dev eth0\nlink set eth0 up\nroute replace default via %v\n",
				r.machineAddr(), linkBits, r.hostAddr())
			_, err := command(ctx, lines, "ip", "-netns", r.ProviderID, "-batch", "-")
			return err
		}),
	}
}

func (r record) addNetns(ctx context.Context) error {
	there, err := r.hasNetns()
	if err != nil || there {
		return err
	}
	_, err = command(ctx, "", "ip", "netns", "add", r.ProviderID)
	return err
}

func (r record) addLink(ctx context.Context) error {
	there, err := r.hostLink()
	if err != nil {
		return err
	}
	if !there {
		// Both ends in one step, each in its place.
		if _, err := command(ctx, "", "ip", "link", "add", r.link(), "address", r.mac("host").String(), "type", "veth",
			"peer", "name", "eth0", "address", r.mac("machine").String(), "netns", r.ProviderID); err != nil {
			return err
		}
	}
	err = setInterface(r.link(), "ipv6", "disable_ipv6", "1")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the host has no IPv6
	}
	return err
}

// forward says whether the host passes on what the machine sends. The switch is
// the link's own and goes with it; so does nothing else than our rule.
func (r record) forward(ctx context.Context) error {
	if !r.Connected {
		return setInterface(r.link(), "ipv4", "forwarding", "0")
	}
	if err := setInterface(r.link(), "ipv4", "forwarding", "1"); err != nil {
		return err
	}
	if r.hasRule(ctx) {
		return nil
	}
	_, err := command(ctx, "", r.rule("-A")...)
	return err
}

// rule lets the machine's traffic to those of the same owner pass: a host with an
// engine drops what no rule lets pass.
func (r record) rule(verb string) []string {
	return []string{
		"iptables", "-w", "5", verb, "FORWARD", "-i", r.link(), "-o", linkPrefix(r.ProviderID) + "+",
		"-m", "comment", "--comment", r.ProviderID, "-j", "ACCEPT",
	}
}

func (r record) hasRule(ctx context.Context) bool {
	_, err := command(ctx, "", r.rule("-C")...)
	return err == nil
}

func setInterface(link, family, key, value string) error {
	return os.WriteFile("/proc/sys/net/"+family+"/conf/"+link+"/"+key, []byte(value), 0o644)
}

// disconnect removes the machine's network.
func (r record) disconnect(ctx context.Context) []hostdir.Step {
	var steps []hostdir.Step
	if r.Connected {
		steps = append(steps, hostdir.Do("rule", func() error { return r.removeRule(ctx) }))
	}
	return append(steps,
		hostdir.Do("link", func() error {
			there, err := r.hostLink()
			if err != nil || !there {
				return err
			}
			_, err = command(ctx, "", "ip", "link", "delete", r.link())
			return err
		}),
		hostdir.Do("network", func() error {
			there, err := r.hasNetns()
			if err != nil || !there {
				return err
			}
			_, err = command(ctx, "", "ip", "netns", "delete", r.ProviderID)
			return err
		}),
	)
}

func (r record) removeRule(ctx context.Context) error {
	rules, err := command(ctx, "", "iptables", "-w", "5", "-S", "FORWARD")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(rules)) {
		if !strings.Contains(line, " "+r.ProviderID+" ") && !strings.Contains(line, `"`+r.ProviderID+`"`) {
			continue
		}
		if _, err := command(ctx, "", r.rule("-D")...); err != nil {
			return err
		}
	}
	return nil
}
