package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/spec"
)

// The bounds of scale are those of the file, so that no apply refuses what scale
// took.
func TestTheBoundsOfReplicasAreThoseOfTheFile(t *testing.T) {
	file := func(replicas ...int) error {
		var b strings.Builder
		b.WriteString("name: shop\nservices:\n")
		for i, n := range replicas {
			fmt.Fprintf(&b, "  s%d: {image: a, replicas: %d}\n", i, n)
		}
		_, err := spec.Parse([]byte(b.String()), spec.Options{})
		return err
	}
	if file(maxReplicas) != nil || file(maxReplicas+1) == nil {
		t.Errorf("a file takes another most than %d replicas of a service", maxReplicas)
	}
	full := []int{maxReplicas, maxReplicas, maxReplicas, maxAppReplicas - 3*maxReplicas}
	if file(full...) != nil || file(append(full, 1)...) == nil {
		t.Errorf("a file takes another most than %d replicas of an app", maxAppReplicas)
	}
}
