package main

import (
	"os"
	"os/exec"
	"testing"
)

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
	o.pool, o.address, o.machines = "10.234.0.0/20", "10.234.240.1", 2
	r, err := run(t.Context(), o)
	if err != nil || r.created != 2 || r.registered != 2 || r.failed > 0 {
		t.Errorf("%v, %v", r, err)
	}
	for _, l := range r.leaked {
		t.Error("leaked:", l)
	}
}
