package netns

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

// freeLink finds a /30 of the pool that overlaps nothing in use. It begins at a
// place given by seed: who shares the pool without knowing rarely meets, and a
// range that is given back rests.
func freeLink(pool netip.Prefix, used []netip.Prefix, seed uint32) (netip.Prefix, bool) {
	base := pool.Masked().Addr().As4()
	size := uint32(1) << (linkBits - pool.Bits())
	for i := range size {
		at := binary.BigEndian.Uint32(base[:]) + (seed%size+i)%size*4
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], at)
		link := netip.PrefixFrom(netip.AddrFrom4(b), linkBits)
		if !slices.ContainsFunc(used, link.Overlaps) {
			return link, true
		}
	}
	return netip.Prefix{}, false
}

// usedLinks are the ranges of all machines in dir, whoever's, and of the host.
func (p *Provider) usedLinks(ctx context.Context) ([]netip.Prefix, error) {
	used, err := hostRoutes(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: the host's routes: %w", infra.ErrUnavailable, err)
	}
	folders, err := filepath.Glob(filepath.Join(escapeGlob(p.config.Dir), "*", "*"))
	if err != nil {
		return nil, err
	}
	for _, path := range folders {
		// One that cannot be read is somebody's whose link is among the routes.
		if r, err := p.host.Read(hostdir.Folder{Path: path}); err == nil && r.Link.IsValid() {
			used = append(used, r.Link)
		}
	}
	return used, nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// hostRoutes are all IPv4 routes of the host but the default ones.
func hostRoutes(ctx context.Context) ([]netip.Prefix, error) {
	raw, err := command(ctx, "", "ip", "-json", "-4", "route", "show", "table", "all")
	if err != nil {
		return nil, err
	}
	return parseRoutes(raw)
}

func parseRoutes(raw []byte) ([]netip.Prefix, error) {
	var routes []struct {
		Dst string `json:"dst"`
	}
	if len(strings.TrimSpace(string(raw))) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &routes); err != nil {
		return nil, err
	}
	var all []netip.Prefix
	for _, r := range routes {
		dst := r.Dst
		if dst == "default" {
			continue
		}
		if !strings.Contains(dst, "/") {
			dst += "/32"
		}
		prefix, err := netip.ParsePrefix(dst)
		if err != nil {
			return nil, fmt.Errorf("route to %q: %w", r.Dst, err)
		}
		if prefix.Bits() > 0 {
			all = append(all, prefix.Masked())
		}
	}
	return all, nil
}

// lockPool takes the folder of all machines, while a range is chosen.
func (p *Provider) lockPool(ctx context.Context) (func(), error) {
	unlock, err := hostdir.Lock(ctx, p.config.Dir)
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("%w: the folder of the machines is not there", infra.ErrUnavailable)
	}
	return unlock, err
}
