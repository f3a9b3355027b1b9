//go:build race

package application

import (
	"hash/fnv"
	"testing"
)

// withoutRace leaves a long test that has one goroutine to the run without the race
// detector, which `make test` has as well.
func withoutRace(t *testing.T) {
	t.Skip("it has one goroutine and takes ten times as long under the race detector; make test runs it without")
}

// modelChecks is small under the race detector, which makes the store some
// twenty times slower; `make test` runs the models without it as well.
const modelChecks = "3"

// cutStride is the distance of the effects that are cut.
const cutStride = 31

// middles are the passes after which a change is overtaken by another strategy.
var middles = []int{4}

// raceSample leaves most of the stories of one service, each of one goroutine, to the run
// without the race detector; which stay here follows from their names.
func raceSample(t *testing.T) {
	t.Helper()
	h := fnv.New32a()
	_, _ = h.Write([]byte(t.Name()))
	if h.Sum32()%5 != 0 {
		t.Skip("one story in five is told under the race detector; make test tells all of them without")
	}
}
