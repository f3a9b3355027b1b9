package dockertest

import (
	"context"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
)

var listCases = []SuiteCase{
	{"ListSelectsByEveryLabelRunningOrNot", func(s *suite) {
		n := s.network(nil)
		one := map[string]string{s.Prefix: "a", s.Prefix + ".role": "web"}
		two := map[string]string{s.Prefix: "b", s.Prefix + ".role": "web"}
		newC := func(labels map[string]string, host int) string {
			return s.create(docker.ContainerSpec{Name: s.name("c"), Image: s.Sleep.Image, Command: s.Sleep.Command, Env: s.Sleep.Env, Labels: labels,
				Network: docker.NetworkAttachment{Network: n.Name, Address: nth(n.Subnet, host)}})
		}
		created, running, stopped := newC(one, 10), newC(one, 11), newC(two, 12)
		none := newC(nil, 13)
		s.must(s.Runtime.Start(s.ctx, running), "start")
		s.must(s.Runtime.Start(s.ctx, stopped), "start")
		s.must(s.Runtime.Stop(s.ctx, stopped, 0), "stop")

		for _, c := range []struct {
			labels map[string]string
			want   []string
		}{
			{map[string]string{s.Prefix: ""}, []string{created, running, stopped}},
			{map[string]string{s.Prefix: "a"}, []string{created, running}},
			{map[string]string{s.Prefix: "b", s.Prefix + ".role": "web"}, []string{stopped}},
			{map[string]string{s.Prefix: "a", s.Prefix + ".role": "db"}, nil},
			{map[string]string{s.Prefix: "", s.Prefix + ".none": ""}, nil},
		} {
			if got := s.listed(c.labels); !slices.Equal(got, sortedCopy(c.want)) {
				s.Errorf("by %v: %v, want %v", c.labels, got, c.want)
			}
		}
		if all := s.listed(nil); !slices.Contains(all, none) || !slices.Contains(all, created) {
			s.Error("no labels do not select every container")
		}
	}},
	{"ListAgreesWithInspect", func(s *suite) {
		vol := s.volume(nil)
		spec := s.spec(s.Sleep)
		spec.Mounts = []docker.Mount{{Volume: vol, Path: "/data"}}
		id := s.run(spec)
		list, err := s.Runtime.List(s.ctx, spec.Labels)
		s.must(err, "list")
		if len(list) != 1 {
			s.Fatalf("%d containers", len(list))
		}
		got, want := list[0], s.inspect(id)
		if got.Full {
			s.Error("a listed state says it is full")
		}
		if got.ID != want.ID || got.Name != want.Name || got.Image != want.Image || got.ImageID != want.ImageID ||
			got.Status != want.Status || got.Address != want.Address || got.Created.Unix() != want.Created.Unix() {
			s.Errorf("listed %+v, inspected %+v", got, want)
		}
		if !slices.Equal(got.Mounts, spec.Mounts) || !slices.Equal(want.Mounts, spec.Mounts) {
			s.Errorf("mounts: listed %+v, inspected %+v, want %+v", got.Mounts, want.Mounts, spec.Mounts)
		}
		if len(got.Labels) < 1 || got.Labels[s.Prefix] != "yes" {
			s.Errorf("labels %v", got.Labels)
		}
	}},
	{"AListedStateBelongsToItsCaller", func(s *suite) {
		spec := s.spec(s.Sleep)
		id := s.create(spec)
		st := s.inspect(id)
		st.Labels[s.Prefix] = "changed"
		if got := s.inspect(id).Labels[s.Prefix]; got != "yes" {
			s.Fatalf("label is now %q", got)
		}
	}},
}

var volumeCases = []SuiteCase{
	{"EnsureVolumeCreatesAndAcceptsItsOwn", func(s *suite) {
		labels := map[string]string{s.Prefix: "yes"}
		name := s.volume(labels)
		s.must(s.Runtime.EnsureVolume(s.ctx, docker.VolumeSpec{Name: name, Labels: labels}), "ensure again")
		for _, by := range []map[string]string{labels, {s.Prefix: ""}} {
			vs, err := s.Runtime.ListVolumes(s.ctx, by)
			s.must(err, "list volumes")
			if len(vs) != 1 || vs[0].Name != name || vs[0].Labels[s.Prefix] != "yes" || vs[0].Created.IsZero() {
				s.Fatalf("by %v: %+v", by, vs)
			}
		}
		vs, err := s.Runtime.ListVolumes(s.ctx, map[string]string{s.Prefix: "no"})
		s.must(err, "list volumes")
		if len(vs) != 0 {
			s.Fatalf("listed by a label it does not carry: %+v", vs)
		}
	}},
	{"AVolumeOfAnotherOwnerIsAConflict", func(s *suite) {
		name := s.volume(map[string]string{s.Prefix: "theirs"})
		err := s.Runtime.EnsureVolume(s.ctx, docker.VolumeSpec{Name: name, Labels: map[string]string{s.Prefix: "ours"}})
		s.wantErr(err, docker.IsConflict, "ensure with another value")
		bare := s.volume(nil)
		err = s.Runtime.EnsureVolume(s.ctx, docker.VolumeSpec{Name: bare, Labels: map[string]string{s.Prefix: "ours"}})
		s.wantErr(err, docker.IsConflict, "ensure of a volume without labels")
	}},
	{"AMissingVolumeIsMadeWithoutLabels", func(s *suite) {
		name := s.name("vol")
		spec := s.spec(s.Sleep)
		spec.Mounts = []docker.Mount{{Volume: name, Path: "/data"}}
		s.cleanup(func(ctx context.Context) { _ = s.Runtime.RemoveVolume(ctx, name) })
		s.create(spec)
		vs, err := s.Runtime.ListVolumes(s.ctx, nil)
		s.must(err, "list volumes")
		i := slices.IndexFunc(vs, func(v docker.Volume) bool { return v.Name == name })
		if i < 0 || len(vs[i].Labels) != 0 {
			s.Fatalf("volumes %+v", vs)
		}
	}},
	{"AMissingVolumeIsMadeWithTheLabelsOfTheSpec", func(s *suite) {
		name, labels := s.name("vol"), map[string]string{s.Prefix: "ours"}
		spec := s.spec(s.Sleep)
		spec.Mounts, spec.VolumeLabels = []docker.Mount{{Volume: name, Path: "/data"}}, map[string]map[string]string{name: labels}
		s.cleanup(func(ctx context.Context) { _ = s.Runtime.RemoveVolume(ctx, name) })
		s.create(spec)
		s.must(s.Runtime.EnsureVolume(s.ctx, docker.VolumeSpec{Name: name, Labels: labels}), "ensure the volume that the engine made")
	}},
	{"TheSizeOfAVolumeIsThatOfItsFiles", func(s *suite) {
		name, empty := s.volume(nil), s.volume(nil)
		spec := s.spec(s.Sleep)
		spec.Mounts = []docker.Mount{{Volume: name, Path: "/data"}}
		id := s.create(spec)
		s.must(s.Runtime.CopyInto(s.ctx, id, "/data", []docker.File{{Path: "x", Data: make([]byte, 100_000)}}), "copy into")
		sizes, err := s.Runtime.VolumeSizes(s.ctx)
		s.must(err, "measure volumes")
		none, there := sizes[empty]
		if sizes[name] < 100_000 || sizes[name] > 200_000 || !there || none > 50_000 {
			s.Fatalf("%d bytes in the volume with a file, %d in the other", sizes[name], none)
		}
	}},
	{"AVolumeInUseIsNotRemoved", func(s *suite) {
		name := s.volume(nil)
		spec := s.spec(s.Sleep)
		spec.Mounts = []docker.Mount{{Volume: name, Path: "/data"}}
		id := s.create(spec)
		s.wantErr(s.Runtime.RemoveVolume(s.ctx, name), docker.IsConflict, "remove volume")
		s.must(s.Runtime.Remove(s.ctx, id), "remove container")
		vs, err := s.Runtime.ListVolumes(s.ctx, nil)
		s.must(err, "list volumes")
		if !slices.ContainsFunc(vs, func(v docker.Volume) bool { return v.Name == name }) {
			s.Fatal("a named volume went with its container")
		}
		s.must(s.Runtime.RemoveVolume(s.ctx, name), "remove volume")
		s.must(s.Runtime.RemoveVolume(s.ctx, name), "remove volume again")
	}},
}

// volume makes a volume that is removed at the end.
func (s *suite) volume(labels map[string]string) string {
	s.Helper()
	name := s.name("vol")
	s.must(s.Runtime.EnsureVolume(s.ctx, docker.VolumeSpec{Name: name, Labels: labels}), "ensure volume")
	s.cleanup(func(ctx context.Context) { _ = s.Runtime.RemoveVolume(ctx, name) })
	return name
}

// listed returns the ids listed by labels, sorted.
func (s *suite) listed(labels map[string]string) []string {
	s.Helper()
	list, err := s.Runtime.List(s.ctx, labels)
	s.must(err, "list")
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return sortedCopy(ids)
}

func sortedCopy(in []string) []string { return slices.Sorted(slices.Values(in)) }
