//go:build race

package application

// modelChecks is small under the race detector, which makes the store some
// twenty times slower; `make test` runs the models without it as well.
const modelChecks = "3"

// cutStride is the distance of the effects that are cut.
const cutStride = 31

// middles are the passes after which a change is overtaken by another strategy.
var middles = []int{4}
