package main

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMachinesJoinServeAndGo(t *testing.T) {
	switch _, err := exec.LookPath("dockerd"); {
	case os.Getenv("BERTH_TEST_DOCKER") == "":
		t.Skip("BERTH_TEST_DOCKER is not set: this makes machines with engines of their own")
	case os.Geteuid() != 0:
		t.Skip("namespaces need root")
	case err != nil:
		t.Skip(err)
	}
	o := defaults()
	o.pool, o.network, o.address = "10.234.0.0/20", "10.225.0.0/16", "10.234.240.1"
	o.machines, o.replicas, o.changes, o.kills, o.rate, o.slow, o.streams = 2, 4, 1, 1, 20, 1, 1
	o.slowFor, o.brief, o.vm, o.out = 200*time.Millisecond, true, false, t.Output()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	r, err := run(ctx, o)
	if err != nil {
		t.Error(err)
	}
	for _, p := range r.problems(o) {
		t.Error(p)
	}
	if r.created != o.machines {
		t.Errorf("%d machines were made, and %d were asked for", r.created, o.machines)
	}
	t.Log(r)
}
