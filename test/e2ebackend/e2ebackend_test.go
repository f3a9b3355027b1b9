package main

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

func TestMain(m *testing.M) {
	testimage.SideBySide(3)
	goleak.VerifyTestMain(m)
}

// TestALeaseLivesOnARealEngine is the short form: a lease each of the first two shapes, from
// provision to the end of what they left, and one kill.
func TestALeaseLivesOnARealEngine(t *testing.T) {
	t.Parallel()
	o := defaults()
	o.docker, o.out = "unix://"+testimage.Socket(t), t.Output()
	o.pool = "10.228.0.0/16"
	o.leases, o.atOnce, o.kills, o.every = 2, 2, 1, 2*time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.problems(o) {
		t.Error(p)
	}
	t.Log(r)
}
