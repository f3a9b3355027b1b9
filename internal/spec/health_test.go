package spec

import (
	"testing"

	"pgregory.net/rapid"
)

func TestStatusRangesAreSortedAndMerged(t *testing.T) {
	for text, want := range map[string]string{
		"200": "200", "200-299": "200-299", "301-302, 200 ,201-204": "200-204,301-302", "200-200": "200",
		"200-250,240-299": "200-299", "200-299,210": "200-299", "404,200": "200,404", "200-599": "200-599",
	} {
		got, err := ParseStatusRanges(text)
		if err != nil || got.String() != want {
			t.Errorf("ParseStatusRanges(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2xx", "99", "100", "600", "199-200", "299-200", "200-", "-200", "200,", "200;201", "2000", "200 201"} {
		if got, err := ParseStatusRanges(text); err == nil {
			t.Errorf("ParseStatusRanges(%q) = %s, want an error", text, got)
		}
	}
}

func TestStatusRangesContainWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all StatusRanges
		for range rapid.IntRange(1, 6).Draw(t, "ranges") {
			low := rapid.IntRange(200, 599).Draw(t, "low")
			all = append(all, StatusRange{low, rapid.IntRange(low, 599).Draw(t, "high")})
		}
		merged, err := ParseStatusRanges(all.String())
		if err != nil {
			t.Fatal(err)
		}
		for status := 100; status < 700; status++ {
			if all.Contain(status) != merged.Contain(status) {
				t.Fatalf("%s became %s, which treats %d differently", all, merged, status)
			}
		}
	})
}
