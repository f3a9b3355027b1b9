package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Amount is a number of replicas: a count such as "2", or a share of those
// desired such as "25%".
type Amount string

// Parse returns the count, or the share in percent.
func (a Amount) Parse() (n int, percent bool, err error) {
	text, percent := strings.CutSuffix(string(a), "%")
	n, err = strconv.Atoi(text)
	if err != nil || n < 0 || text != strconv.Itoa(n) {
		return 0, false, fmt.Errorf("%q is neither a count such as 1 nor a share such as 25%%", string(a))
	}
	return n, percent, nil
}

// of is the amount of a whole; shares round up or down. What cannot be read is
// the default.
func (a Amount) of(whole, unset int, up bool) int {
	n, percent, err := a.Parse()
	switch {
	case err != nil:
		return unset
	case !percent:
		return n
	case up:
		return (n*whole + 99) / 100
	}
	return n * whole / 100
}

// RollingBounds are how many replicas a rolling change of so many may have
// beyond them, and how many of them may be missing. As in Kubernetes shares of
// surge round up, those of unavailable down, and where both come to nothing one
// may be missing.
func (s *Service) RollingBounds(replicas int) (surge, unavailable int) {
	surge = s.MaxSurge.of(replicas, 1, true)
	unavailable = s.MaxUnavailable.of(replicas, 0, false)
	if s.ReplicaExclusive() {
		surge = 0 // the new replica needs what the old one holds
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, replicas)
}
