//go:build !race

package application

import "testing"

func withoutRace(*testing.T) {}

// modelChecks times rapid.steps below is 20,000 steps.
const modelChecks = "400"

// cutStride is the distance of the effects that are cut.
const cutStride = 1

// middles are the passes after which a change is overtaken by another strategy.
var middles = []int{1, 4, 9}

// raceSample leaves nothing out.
func raceSample(*testing.T) {}
