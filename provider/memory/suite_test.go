package memory_test

import (
	"flag"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/memory/memorytest"
	"github.com/berth-cloud/berth/provider/providertest"
)

// TestMain gives the models their steps unless a flag says otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", modelChecks); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func TestMemoryConformsWhenCallsWait(t *testing.T) { conforms(t, memory.Sync) }

func TestMemoryConformsStepByStep(t *testing.T) { conforms(t, memory.Stepped) }

// conforms runs every case in a bubble of its own, on virtual time.
func conforms(t *testing.T, mode memory.Mode) {
	for _, c := range providertest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, memorytest.New(t, mode).Fixture()) })
		})
	}
}

func TestCapabilitiesOfMemoryAreThoseWritten(t *testing.T) {
	providertest.Capabilities(t, memory.New(memory.Options{}), "testdata/memory.golden")
}
