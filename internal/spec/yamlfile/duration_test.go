package yamlfile

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationsAreAWholeNumberWithOneUnit(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "500ms": 500 * time.Millisecond, "3s": 3 * time.Second, "2m": 2 * time.Minute, "1h": time.Hour,
		"2562047h": 2562047 * time.Hour, "010s": 10 * time.Second,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"10":                    "say the unit, for example 10s",
		"1m30s":                 "write one whole number with one unit: 90s",
		"1.5h":                  "write one whole number with one unit: 90m",
		"2d":                    "write a whole number with a unit: 500ms, 3s, 2m or 1h",
		"":                      "write a whole number with a unit: 500ms, 3s, 2m or 1h",
		"-1s":                   "write a whole number with a unit: 500ms, 3s, 2m or 1h",
		"1 s":                   "write a whole number with a unit: 500ms, 3s, 2m or 1h",
		"5us":                   "write a whole number with a unit: 500ms, 3s, 2m or 1h",
		"2562048h":              "write it in a larger unit, or a smaller number",
		"99999999999999999999h": "write it in a larger unit, or a smaller number",
	} {
		_, err := ParseDuration(text)
		var a *Advised
		if !errors.As(err, &a) || a.Do != want {
			t.Errorf("ParseDuration(%q) advises %v; want %q", text, err, want)
		}
	}
}

func TestDurationsSurviveWritingAndReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour}).Draw(t, "unit")
		want := unit * time.Duration(rapid.Int64Range(0, math.MaxInt64/int64(unit)).Draw(t, "n"))
		got, err := ParseDuration(FormatDuration(want))
		if err != nil || got != want {
			t.Fatalf("%v is written %q, which is read %v, %v", want, FormatDuration(want), got, err)
		}
	})
}
