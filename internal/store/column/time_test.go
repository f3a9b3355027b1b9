package column_test

import (
	"math"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/store/column"
)

func TestATimeIsKeptToTheNanosecondAndCutAtTheEnds(t *testing.T) {
	for _, c := range []struct{ at, back time.Time }{
		{time.Time{}, time.Time{}},
		{time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC()},
		{time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600)), time.Date(2026, 1, 2, 2, 4, 5, 6, time.UTC)},
		{time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Unix(0, math.MinInt64).UTC()},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, math.MaxInt64).UTC()},
	} {
		var got time.Time
		if err := (column.Time{To: &got}).Scan(column.Stamp(c.at)); err != nil || got != c.back {
			t.Errorf("%v came back as %v, %v", c.at, got, err)
		}
	}
	if err := (column.Time{To: new(time.Time)}).Scan("2026-01-02"); err == nil {
		t.Error("a text passes for a time")
	}
}
