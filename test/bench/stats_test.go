package main

import (
	"testing"
	"time"
)

func TestMedianIsTheMiddleOfTheValuesInOrder(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.values, got, c.want)
		}
	}
	if got := median([]time.Duration{3 * time.Second, time.Second}); got != 2*time.Second {
		t.Errorf("median of durations: %v", got)
	}
}

func TestQuartilesOfNineValues(t *testing.T) {
	values := []float64{9, 8, 7, 6, 5, 4, 3, 2, 1}
	if low, high := quantile(values, 0.25), quantile(values, 0.75); low != 3 || high != 7 {
		t.Errorf("quartiles %v and %v", low, high)
	}
	if got := quantile(values, 1); got != 9 {
		t.Errorf("the largest is %v", got)
	}
}

func TestAFigureIsHeldAgainstItsTarget(t *testing.T) {
	for _, c := range []struct {
		value, target float64
		atLeast       bool
		want          string
	}{
		{1, 1.25, false, "met"},
		{1.5, 1.25, false, "missed, by 1.20 ×"},
		{3, 0, false, ""},
		{2, 1.5, true, "met"},
		{1, 1.5, true, "missed, by 1.50 ×"},
	} {
		if got := (line{Value: c.value, Target: c.target, AtLeast: c.atLeast}).verdict(); got != c.want {
			t.Errorf("%v against %v: %q, want %q", c.value, c.target, got, c.want)
		}
	}
}
