package main

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// short asks for little, so that it passes beside other tests on a small machine.
func short(t *testing.T) options {
	o := defaults()
	o.docker = "unix://" + testimage.Socket(t)
	o.out = t.Output()
	o.rate, o.changes, o.kills, o.plan, o.replicas = 50, len(shortPlan), 1, shortPlan, 2
	o.slow, o.streams, o.sockets, o.slowFor = 1, 1, 1, time.Second
	return o
}

// pass runs to the end and reports whatever was wrong.
func pass(t *testing.T, o options) result {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	r, err := run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.problems(o) {
		t.Error(p)
	}
	t.Log(r)
	return r
}

func TestChangesAndAKillOfTheControlPlaneFailNoRequest(t *testing.T) {
	o := short(t)
	t.Log("\n" + pass(t, o).table(o.plan))
}

func TestAReplicaThatCrashesBesideAnotherFailsNoGet(t *testing.T) {
	o := short(t)
	o.crashes = 2
	pass(t, o)
}
