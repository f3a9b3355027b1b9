package sku

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bounds of the size of one instance. The lower ones are those of a Docker engine
// and of the kernel's CPU quota; the upper ones leave room for every sum that a lease
// can have.
const (
	MinMilliCPU int64 = 10        // a hundredth of a core
	MaxMilliCPU int64 = 1_000_000 // a thousand cores
	MinMemoryMB int64 = 6
	MaxMemoryMB int64 = 64 << 20 // 64 TiB
	MaxDiskMB   int64 = 1 << 30  // 1 PiB
)

// Size is an amount of each resource: of one instance, or of many in sum.
type Size struct {
	MilliCPU int64 // thousandths of a core
	MemoryMB int64 // units of 1<<20 bytes
	DiskMB   int64 // units of 1<<20 bytes
}

// Add is the sum. It is not ok where a part is beyond what can be counted.
func (s Size) Add(o Size) (sum Size, ok bool) {
	sum = Size{s.MilliCPU + o.MilliCPU, s.MemoryMB + o.MemoryMB, s.DiskMB + o.DiskMB}
	ok = !wrapped(s.MilliCPU, o.MilliCPU, sum.MilliCPU) && !wrapped(s.MemoryMB, o.MemoryMB, sum.MemoryMB) &&
		!wrapped(s.DiskMB, o.DiskMB, sum.DiskMB)
	if !ok {
		return Size{}, false
	}
	return sum, true
}

// wrapped: two of one sign have a sum of the other.
func wrapped(a, b, sum int64) bool { return (a >= 0) == (b >= 0) && (sum >= 0) != (a >= 0) }

// Sub is the difference. It cannot wrap where neither is negative.
func (s Size) Sub(o Size) Size {
	return Size{s.MilliCPU - o.MilliCPU, s.MemoryMB - o.MemoryMB, s.DiskMB - o.DiskMB}
}

// MilliCPU is cores in thousandths. Those that are not finite, are negative, are more
// than a million or come to no whole thousandth are an error.
func MilliCPU(cores float64) (int64, error) {
	const most = 1e6
	switch {
	case math.IsNaN(cores) || math.IsInf(cores, 0):
		return 0, errors.New("is not a number")
	case cores < 0:
		return 0, errors.New("is negative")
	case cores > most:
		return 0, errors.New("is more than a million cores")
	}
	milli := math.Round(cores * 1000)
	// What is written with three decimals is off by its binary form at most.
	if math.Abs(cores*1000-milli) > 1e-6 {
		return 0, errors.New("is finer than a thousandth of a core")
	}
	return int64(milli), nil
}

// Cores is thousandths as the wire has them.
func Cores(milli int64) float64 { return float64(milli) / 1000 }

// FormatCores writes thousandths as cores, exactly: 0.25, 2.
func FormatCores(milli int64) string {
	sign := ""
	if milli < 0 {
		sign = "-"
	}
	whole, part := milli/1000, milli%1000
	text := sign + strings.TrimPrefix(strconv.FormatInt(whole, 10), "-")
	if part == 0 {
		return text
	}
	return text + "." + strings.TrimRight(fmt.Sprintf("%03d", max(part, -part)), "0")
}
