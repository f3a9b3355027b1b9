package sku

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestCoresAreTakenExactlyOrNotAtAll(t *testing.T) {
	for _, c := range []struct {
		cores float64
		milli int64
		ok    bool
	}{
		{0, 0, true}, {0.001, 1, true}, {0.25, 250, true}, {0.1, 100, true}, {0.3, 300, true}, {1.001, 1001, true},
		{2, 2000, true}, {999.999, 999_999, true}, {1e6, 1_000_000_000, true},
		{0.0001, 0, false}, {0.2505, 0, false}, {-0.001, 0, false}, {-1, 0, false}, {1e6 + 1, 0, false}, {1e300, 0, false},
		{math.NaN(), 0, false}, {math.Inf(1), 0, false}, {math.Inf(-1), 0, false},
	} {
		milli, err := MilliCPU(c.cores)
		if milli != c.milli || (err == nil) != c.ok {
			t.Errorf("MilliCPU(%v) = %d, %v; want %d, ok %t", c.cores, milli, err, c.milli, c.ok)
		}
	}
}

func TestEveryThousandthComesBackFromTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		milli := rapid.Int64Range(0, 1_000_000_000).Draw(t, "milli")
		back, err := MilliCPU(Cores(milli))
		if err != nil || back != milli {
			t.Fatalf("%d came back as %d, %v", milli, back, err)
		}
	})
}

func TestFormatCores(t *testing.T) {
	for milli, want := range map[int64]string{
		0: "0", 1: "0.001", 10: "0.01", 250: "0.25", 1000: "1", 1500: "1.5", 12_034: "12.034", -250: "-0.25", -1500: "-1.5", -2000: "-2",
	} {
		if got := FormatCores(milli); got != want {
			t.Errorf("FormatCores(%d) = %q; want %q", milli, got, want)
		}
	}
}

func TestASumIsExactOrNotOK(t *testing.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64}))
	size := rapid.Custom(func(t *rapid.T) Size {
		return Size{number.Draw(t, "cpu"), number.Draw(t, "memory"), number.Draw(t, "disk")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := size.Draw(t, "a"), size.Draw(t, "b")
		exact := func(x, y int64) *big.Int { return new(big.Int).Add(big.NewInt(x), big.NewInt(y)) }
		cpu, memory, disk := exact(a.MilliCPU, b.MilliCPU), exact(a.MemoryMB, b.MemoryMB), exact(a.DiskMB, b.DiskMB)
		sum, ok := a.Add(b)
		if fits := cpu.IsInt64() && memory.IsInt64() && disk.IsInt64(); ok != fits {
			t.Fatalf("%v + %v: ok %t; want %t", a, b, ok, fits)
		}
		if ok && (sum != Size{cpu.Int64(), memory.Int64(), disk.Int64()}) {
			t.Fatalf("%v + %v = %v", a, b, sum)
		}
		if ok && sum.Sub(b) != a {
			t.Fatalf("%v + %v - %[2]v = %v", a, b, sum.Sub(b))
		}
	})
}
