package memory_test

import (
	"testing"
	"testing/synctest"

	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/memory/memorytest"
	"github.com/berth-cloud/berth/provider/providertest"
)

func TestMemoryAgreesWithTheModelWhenCallsWait(t *testing.T) { agrees(t, memory.Sync) }

func TestMemoryAgreesWithTheModelStepByStep(t *testing.T) { agrees(t, memory.Stepped) }

func agrees(t *testing.T, mode memory.Mode) {
	synctest.Test(t, func(t *testing.T) {
		providertest.Model(t, func(t testing.TB) providertest.Fixture { return memorytest.New(t, mode).Fixture() })
	})
}
