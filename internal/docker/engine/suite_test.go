package engine_test

import (
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest/realsuite"
	"github.com/berth-cloud/berth/internal/docker/engine"
)

func TestTheRealEngineConforms(t *testing.T) {
	realsuite.Run(t, func(t testing.TB, socket string) docker.Runtime {
		c, err := engine.New(engine.Options{Host: socket})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	})
}
