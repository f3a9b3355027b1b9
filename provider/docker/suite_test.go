package docker_test

import (
	"testing"

	"github.com/berth-cloud/berth/provider/docker"
	"github.com/berth-cloud/berth/provider/providertest"
)

func TestDockerConforms(t *testing.T) {
	l := newLab(t)
	providertest.Run(t, func(t testing.TB) providertest.Fixture { return l.bench(t).fixture() })
}

func TestCapabilitiesOfDockerAreThoseWritten(t *testing.T) {
	p, err := docker.New(docker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	providertest.Capabilities(t, p, "testdata/docker.golden")
}
