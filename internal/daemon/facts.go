package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/berth-cloud/berth/internal/reconcile/ingress"
)

const (
	bootIDFile = "/proc/sys/kernel/random/boot_id"
	routesFile = "/proc/net/route"
	enginePid  = "/run/docker.pid"
)

// facts identify this boot and the engine's start.
func facts(context.Context) (ingress.Facts, error) {
	boot, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ingress.Facts{}, fmt.Errorf("read the machine's boot id: %w", err)
	}
	return ingress.Facts{BootID: strings.TrimSpace(string(boot)), EngineStart: engineStart()}, nil
}

// engineStart tells one start of the engine from another by its process and
// when that began; "" where the engine keeps its pid elsewhere.
func engineStart() string {
	pid, err := os.ReadFile(enginePid)
	if err != nil {
		return ""
	}
	id := strings.TrimSpace(string(pid))
	stat, err := os.ReadFile("/proc/" + id + "/stat")
	if err != nil {
		return ""
	}
	// The 22nd field, counted after the name, which may hold anything but ends
	// with the last parenthesis.
	_, rest, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(" "))
	fields := strings.Fields(string(rest))
	const startTime = 22 - 3
	if len(fields) <= startTime {
		return ""
	}
	return id + "@" + fields[startTime]
}

// hostRoutes are the IPv4 prefixes that the host already reaches some way; the
// default route is none of them.
func hostRoutes() ([]netip.Prefix, error) {
	data, err := os.ReadFile(routesFile)
	if err != nil {
		return nil, err
	}
	return parseRoutes(data)
}

// parseRoutes reads the kernel's table: addresses are hexadecimal in host
// byte order.
func parseRoutes(data []byte) ([]netip.Prefix, error) {
	var out []netip.Prefix
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Scan() // headings
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 8 {
			continue
		}
		dst, err1 := hexAddr(f[1])
		mask, err2 := hexAddr(f[7])
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("route %q of %s cannot be read", lines.Text(), routesFile)
		}
		bits := 0
		for _, b := range mask.As4() {
			for ; b != 0; b <<= 1 {
				bits++
			}
		}
		if bits > 0 {
			out = append(out, netip.PrefixFrom(dst, bits))
		}
	}
	return out, lines.Err()
}

func hexAddr(s string) (netip.Addr, error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != 4 {
		return netip.Addr{}, fmt.Errorf("%q is not an address", s)
	}
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], binary.LittleEndian.Uint32(raw))
	return netip.AddrFrom4(a), nil
}
