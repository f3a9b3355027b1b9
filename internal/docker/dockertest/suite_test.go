package dockertest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/docker/dockertest/simsuite"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestTheSimulatedEngineConforms(t *testing.T) {
	dockertest.RunSuite(t, func(t testing.TB) dockertest.Fixture {
		clock := dockertest.NewClock(epoch)
		e := dockertest.New(clock)
		t.Cleanup(e.Close)
		fx := simsuite.Fixture(e)
		fx.Wait = func(cond func() bool) bool { return simsuite.WaitVirtual(t.Context(), clock, cond) }
		return fx
	})
}

func TestTheSimulatedEngineConformsOnTheWallClock(t *testing.T) {
	for _, c := range dockertest.SuiteCases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := dockertest.New(dockertest.NewWallClock())
				defer e.Close()
				fx := simsuite.Fixture(e)
				fx.Wait = simsuite.WaitWall
				c.Run(t, fx)
			})
		})
	}
}
