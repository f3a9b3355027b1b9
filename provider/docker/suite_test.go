package docker_test

import (
	"os"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
	"github.com/berth-cloud/berth/provider/docker"
	"github.com/berth-cloud/berth/provider/providertest"
)

// brief leaves out of a run of all tests what takes minutes on a real engine;
// `make conformance` runs every case.
const brief = "BERTH_TEST_BRIEF"

func TestMain(m *testing.M) {
	testimage.SideBySide(6)
	os.Exit(m.Run())
}

func TestDockerConforms(t *testing.T) {
	l := newLab(t)
	fixture := func(t testing.TB) providertest.Fixture { return l.bench(t).fixture() }
	if os.Getenv(brief) == "" {
		providertest.Run(t, fixture)
		return
	}
	ran, groups := 0, map[string]bool{}
	for _, c := range providertest.Cases() {
		if group, _, _ := strings.Cut(c.Name, "/"); groups[group] {
			continue
		} else {
			groups[group] = true
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			if !c.Alone {
				t.Parallel()
			}
			c.Run(t, fixture(t))
		})
	}
	t.Logf("%s is set: the first case of every group, %d of %d; make conformance runs all", brief, ran, len(providertest.Cases()))
}

func TestCapabilitiesOfDockerAreThoseWritten(t *testing.T) {
	p, err := docker.New(docker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	providertest.Capabilities(t, p, "testdata/docker.golden")
}
