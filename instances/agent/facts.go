package agent

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/instances/wire"
)

// maxAddresses is how many of the machine's addresses are told.
const maxAddresses = 32

// linuxFacts reads what the kernel says. What cannot be read is left out.
func linuxFacts() wire.Facts {
	f := wire.Facts{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), MemoryBytes: meminfo("MemTotal:")}
	f.Hostname, _ = os.Hostname()
	f.Hostname = wire.Clip(f.Hostname)
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		f.Kernel = wire.Clip(strings.TrimSpace(string(release)))
	}
	own, _ := hostAddresses()
	for _, a := range own {
		if !never(a) && len(f.Addresses) < maxAddresses {
			f.Addresses = append(f.Addresses, a.String())
		}
	}
	return f
}

func linuxMetrics() wire.Metrics {
	m := wire.Metrics{MemoryAvailableBytes: meminfo("MemAvailable:")}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load1, _ = strconv.ParseFloat(firstWord(load), 64)
	}
	if up, err := os.ReadFile("/proc/uptime"); err == nil {
		seconds, _ := strconv.ParseFloat(firstWord(up), 64)
		m.UptimeSeconds = uint64(max(seconds, 0))
	}
	return m
}

func firstWord(text []byte) string {
	if words := bytes.Fields(text); len(words) > 0 {
		return string(words[0])
	}
	return ""
}

// meminfo is one line of /proc/meminfo, in bytes.
func meminfo(key string) uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) >= 2 && words[0] == key {
			kib, _ := strconv.ParseUint(words[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
