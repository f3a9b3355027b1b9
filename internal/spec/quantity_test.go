package spec

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

func TestMemoryIsReadAsKubernetesReadsIt(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "128974848": 128974848, "129e6": 129_000_000, "129M": 129_000_000,
		"123Mi": 123 << 20, "128974848000m": 128974848, "1.5Gi": 3 << 29, "0.5Ki": 512, ".5Ki": 512, "5.Ki": 5120,
		"1k": 1000, "1Ki": 1024, "1E": 1_000_000_000_000_000_000, "1Ei": 1 << 60, "1E3": 1000, "1e+3": 1000, "1000e-3": 1,
		"1000000u": 1, "1000000000n": 1, "7Ei": 7 << 60, "9223372036854775807": math.MaxInt64, "2T": 2e12, "3P": 3e15,
		"1Ti": 1 << 40, "1Pi": 1 << 50, "007Mi": 7 << 20, "1.000Mi": 1 << 20,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestWhatIsNoAmountOfMemoryIsRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", ".", "Mi", "-1", "+1", "1 Mi", " 1Mi", "1Mi ", "1mi", "1MI", "1MB", "1MiB", "1K", "1g", "1e", "1e1000",
		"1e-", "1.5", "1m", "1u", "0x10", "1_000", "1,5Gi", "8Ei", "9223372036854775808", "1e99", "٣Mi", "1Mi\n",
		strings.Repeat("9", 1000), "1." + strings.Repeat("0", 1000), "NaN", "Inf", "1Mi1Mi", "--1",
	} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", text, got)
		}
	}
}

func TestTheAdviceForMemoryIsWhatWasMeant(t *testing.T) {
	for text, want := range map[string]string{
		"512MB":    "write 512Mi (powers of 1024) or 512M (powers of 1000)",
		"256mb":    "write 256Mi (powers of 1024) or 256M (powers of 1000)",
		"1gb":      "write 1Gi (powers of 1024) or 1G (powers of 1000)",
		"1g":       "write 1Gi (powers of 1024) or 1G (powers of 1000)",
		"512K":     "write 512Ki (powers of 1024) or 512k (powers of 1000)",
		"512 MiB":  "write 512Mi",
		"512mi":    "write 512Mi",
		"256m":     "write 256Mi for mebibytes",
		"lots":     "write a number with Ki, Mi or Gi (or k, M, G), for example 256Mi",
		"5 apples": "write a number with Ki, Mi or Gi (or k, M, G), for example 256Mi",
		"5 pears":  "write a number with Ki, Mi or Gi (or k, M, G), for example 256Mi",
	} {
		_, err := ParseBytes(text)
		var a *yamlfile.Advised
		if !errors.As(err, &a) || a.Do != want {
			t.Errorf("ParseBytes(%q) advises %v; want %q", text, err, want)
		}
	}
}

func TestProcessorIsReadInThousandthsOfACore(t *testing.T) {
	for text, want := range map[string]int64{
		"250m": 250, "0.5": 500, "0.25": 250, "2": 2000, "1.001": 1001, "0.001": 1, "1e-3": 1, "1k": 1_000_000, "500000u": 500,
		"0": 0, "1Ki": 1024_000,
	} {
		if got, err := ParseMilliCPU(text); err != nil || got != want {
			t.Errorf("ParseMilliCPU(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0.0005", "1n", "50%", "2 cores", "-1", "1cpu", "9E", "0.5m"} {
		if got, err := ParseMilliCPU(text); err == nil {
			t.Errorf("ParseMilliCPU(%q) = %d, want an error", text, got)
		}
	}
}

func TestQuantitiesSurviveWritingAndReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "n")
		n >>= rapid.IntRange(0, 62).Draw(t, "shift")
		n <<= rapid.IntRange(0, 20).Draw(t, "zeros")
		if n < 0 {
			n = math.MaxInt64
		}
		if got, err := ParseBytes(FormatBytes(n)); err != nil || got != n {
			t.Fatalf("%d is written %q, which is read %d, %v", n, FormatBytes(n), got, err)
		}
		if got, err := ParseMilliCPU(FormatMilliCPU(n)); err != nil || got != n {
			t.Fatalf("%d is written %q, which is read %d, %v", n, FormatMilliCPU(n), got, err)
		}
	})
}

// TestMemoryIsExact compares with a reckoning of its own, in whole numbers:
// digits, times the unit, over ten to the number of decimals.
func TestMemoryIsExact(t *testing.T) {
	units := map[string]string{"": "1", "k": "1000", "M": "1000000", "G": "1000000000", "Ki": "1024", "Mi": "1048576",
		"Gi": "1073741824", "Ti": "1099511627776", "e2": "100", "E0": "1", "e+9": "1000000000"}
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringMatching(`[0-9]{1,12}`).Draw(t, "whole")
		decimals := rapid.StringMatching(`[0-9]{0,6}`).Draw(t, "decimals")
		suffix := rapid.SampledFrom([]string{"", "k", "M", "G", "Ki", "Mi", "Gi", "Ti", "e2", "E0", "e+9"}).Draw(t, "suffix")
		text := whole
		if decimals != "" {
			text += "." + decimals
		}
		digits, _ := new(big.Int).SetString(whole+decimals, 10)
		unit, _ := new(big.Int).SetString(units[suffix], 10)
		ten, _ := new(big.Int).SetString("1"+strings.Repeat("0", len(decimals)), 10)
		want, rest := new(big.Int).QuoRem(digits.Mul(digits, unit), ten, new(big.Int))

		got, err := ParseBytes(text + suffix)
		if rest.Sign() != 0 || !want.IsInt64() {
			if err == nil {
				t.Fatalf("ParseBytes(%q) = %d, but it is not a whole number of bytes that fits", text+suffix, got)
			}
			return
		}
		if err != nil || got != want.Int64() {
			t.Fatalf("ParseBytes(%q) = %d, %v; want %s", text+suffix, got, err, want)
		}
	})
}

func FuzzQuantity(f *testing.F) {
	for _, seed := range []string{"256Mi", "1.5e3", "1E", "512MB", ".", strconv.Itoa(math.MaxInt64)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := ParseBytes(text); err == nil {
			if again, err := ParseBytes(FormatBytes(n)); err != nil || again != n {
				t.Errorf("%q is %d, written %q, read %d, %v", text, n, FormatBytes(n), again, err)
			}
		}
		if n, err := ParseMilliCPU(text); err == nil && n < 0 {
			t.Errorf("ParseMilliCPU(%q) = %d", text, n)
		}
	})
}
