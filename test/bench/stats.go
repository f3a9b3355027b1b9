package main

import "slices"

// number is what medians are taken of.
type number interface{ ~int64 | ~float64 }

// quantile is the value at a share q, 0 to 1, of the values in order, between
// its two neighbours where it falls between them. There must be a value.
func quantile[T number](values []T, q float64) T {
	s := slices.Sorted(slices.Values(values))
	at := q * float64(len(s)-1)
	low := int(at)
	if low+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[low] + T((at-float64(low))*float64(s[low+1]-s[low]))
}

func median[T number](values []T) T { return quantile(values, 0.5) }
