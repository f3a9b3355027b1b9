package dockertest_test

import (
	"fmt"
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

func BenchmarkList(b *testing.B) {
	w := newWorld(b)
	w.AddImage("app", docker.Image{}, dockertest.Behaviour{Port: 80})
	const services = 10_000
	for i := range services {
		w.run(docker.ContainerSpec{Name: fmt.Sprintf("web-%d", i), Image: "app",
			Network: docker.NetworkAttachment{Network: testNetwork},
			Labels: map[string]string{
				docker.LabelInstance: "one", docker.LabelApp: fmt.Sprint(i / 2), docker.LabelService: fmt.Sprint(i),
				docker.LabelRelease: "abcdef012345", docker.LabelSpecHash: "h", docker.LabelMember: "main", docker.LabelReplica: "0",
			}})
	}
	for name, c := range map[string]struct {
		labels map[string]string
		want   int
	}{
		"instance": {map[string]string{docker.LabelInstance: "one"}, services},
		"service":  {map[string]string{docker.LabelInstance: "one", docker.LabelService: "77"}, 1},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if got, err := w.List(w.ctx, c.labels); len(got) != c.want || err != nil {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

func BenchmarkDeployCycle(b *testing.B) {
	w := newWorld(b)
	spec := w.spec("app", dockertest.Behaviour{Port: 80})
	spec.Labels = map[string]string{docker.LabelInstance: "one", docker.LabelService: "web"}
	for b.Loop() {
		w.run(spec)
		w.must(w.Stop(w.ctx, "app", 0))
		w.must(w.Remove(w.ctx, "app"))
	}
}
