package dockertest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/internal/docker"
)

var engineCases = []SuiteCase{
	{"InfoDescribesTheEngine", func(s *suite) {
		info, err := s.Runtime.Info(s.ctx)
		s.must(err, "info")
		if info.ID == "" || info.Version == "" || info.APIVersion == "" || info.OS != "linux" || info.CPUs < 1 || info.MemoryBytes < 1 || info.RootDir == "" {
			s.Fatalf("incomplete: %+v", info)
		}
		if strings.Contains(info.Architecture, "x86") || info.Architecture == "aarch64" {
			s.Fatalf("architecture %q is not written as in image manifests", info.Architecture)
		}
		again, err := s.Runtime.Info(s.ctx)
		s.must(err, "info again")
		if again.ID != info.ID {
			s.Fatalf("the id changed from %q to %q", info.ID, again.ID)
		}
	}},
	{"ADoneContextEndsACall", func(s *suite) {
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		_, err := s.Runtime.List(ctx, map[string]string{s.Prefix: ""})
		s.wantErr(err, func(err error) bool { return errors.Is(err, context.Canceled) }, "list with a cancelled context")
		_, err = s.Runtime.Create(ctx, docker.ContainerSpec{Name: s.name("c"), Image: s.Sleep.Image, Command: s.Sleep.Command, Env: s.Sleep.Env})
		s.wantErr(err, func(err error) bool { return errors.Is(err, context.Canceled) }, "create with a cancelled context")
	}},
}

var containerCases = []SuiteCase{
	{"CreateRunsNothing", func(s *suite) {
		spec := s.spec(s.Sleep)
		st := s.inspect(s.create(spec))
		if st.Status != docker.StatusCreated || st.Running() || !st.Full {
			s.Fatalf("status %s, full %v", st.Status, st.Full)
		}
		if st.Name != spec.Name || st.Image != spec.Image || st.Created.IsZero() || st.Labels[s.Prefix] != "yes" {
			s.Fatalf("not what was created: %+v", st)
		}
	}},
	{"CreateOfATakenNameIsAConflict", func(s *suite) {
		spec := s.spec(s.Sleep)
		id := s.create(spec)
		_, err := s.Runtime.Create(s.ctx, spec)
		s.wantErr(err, docker.IsConflict, "second create")
		if got := s.inspect(spec.Name).ID; got != id {
			s.Fatalf("the name now means %s, not %s", got, id)
		}
	}},
	{"CreateWithoutTheImageIsImageNotFound", func(s *suite) {
		spec := s.spec(Program{Image: s.Prefix + "/no-such-image:1"})
		_, err := s.Runtime.Create(s.ctx, spec)
		s.wantErr(err, docker.IsImageNotFound, "create")
		_, err = s.Runtime.Inspect(s.ctx, spec.Name)
		s.wantErr(err, docker.IsNotFound, "inspect what was refused")
	}},
	{"AMissingNetworkIsNotFoundAtStartAtTheLatest", func(s *suite) {
		spec := s.spec(s.Sleep)
		spec.Network.Network = s.name("no-net")
		s.wantErr(s.createAndStart(spec), docker.IsNotFound, "create and start")
	}},
	{"CreateOfABadNameIsInvalid", func(s *suite) {
		spec := s.spec(s.Sleep)
		spec.Name = "not/a name"
		_, err := s.Runtime.Create(s.ctx, spec)
		s.wantErr(err, func(err error) bool { return errors.Is(err, docker.ErrInvalid) }, "create")
	}},
	{"AVariableThatTheEngineCannotCarryIsInvalid", func(s *suite) {
		for _, value := range []string{"nul \x00", "not utf-8 \xff"} {
			spec := s.spec(s.Sleep)
			spec.Env = append(spec.Env, docker.EnvVar{Name: "VALUE", Value: value})
			_, err := s.Runtime.Create(s.ctx, spec)
			s.wantErr(err, func(err error) bool { return errors.Is(err, docker.ErrInvalid) }, "create with "+strconv.Quote(value))
		}
	}},
	{"TheImageIDOfAContainerIsTheEngines", func(s *suite) {
		im, err := s.Runtime.Image(s.ctx, s.Sleep.Image)
		s.must(err, "image")
		spec := s.spec(Program{Image: im.ID, Command: s.Sleep.Command})
		if st := s.inspect(s.create(spec)); st.ImageID != im.ID || st.Image != im.ID {
			s.Fatalf("image id %s and reference %s, want %s", st.ImageID, st.Image, im.ID)
		}
	}},
	{"StartRunsAndRepeatedStartSucceeds", func(s *suite) {
		id := s.run(s.spec(s.Sleep))
		first := s.inspect(id)
		if !first.Running() || first.Started.IsZero() {
			s.Fatalf("status %s, started %v", first.Status, first.Started)
		}
		s.must(s.Runtime.Start(s.ctx, id), "start again")
		if again := s.inspect(id); !again.Started.Equal(first.Started) {
			s.Fatal("the second start restarted it")
		}
	}},
	{"StartOfAMissingContainerIsNotFound", func(s *suite) {
		s.wantErr(s.Runtime.Start(s.ctx, s.name("none")), docker.IsNotFound, "start")
	}},
	{"StartOfAnExitedContainerRunsItAgain", func(s *suite) {
		id := s.run(s.spec(s.Sleep))
		first := s.inspect(id)
		s.must(s.Runtime.Stop(s.ctx, id, 0), "stop")
		s.must(s.Runtime.Start(s.ctx, id), "start")
		if st := s.inspect(id); !st.Running() || st.Started.Before(first.Started) {
			s.Fatalf("status %s, started %v, before %v", st.Status, st.Started, first.Started)
		}
	}},
	{"AProcessThatCannotStartIsAnErrorAndSaysWhy", func(s *suite) {
		spec := s.spec(s.Sleep)
		spec.Entrypoint = []string{"/does-not-exist"}
		id := s.create(spec)
		s.wantErr(s.Runtime.Start(s.ctx, id), func(err error) bool { return errors.Is(err, docker.ErrInvalid) }, "start")
		if st := s.inspect(id); st.Running() || st.Exit.Error == "" || st.Exit.Code == 0 {
			s.Fatalf("status %s, exit %+v", st.Status, st.Exit)
		}
		s.must(s.Runtime.Remove(s.ctx, id), "remove")
	}},
	{"ExitCodeAndTimesAreReported", func(s *suite) {
		spec := s.spec(s.Exit(7))
		id := s.run(spec)
		st := s.waitStatus(id, docker.StatusExited)
		x := st.Exit
		if x.Code != 7 || x.OOMKilled || x.FinishedAt.IsZero() || x.FinishedAt.Before(x.StartedAt) || !x.StartedAt.Equal(st.Started) {
			s.Fatalf("exit %+v, started %v", x, st.Started)
		}
		if in, ok := s.Runtime.(docker.ExitStateInspector); ok {
			got, err := in.ExitState(s.ctx, id)
			s.must(err, "exit state")
			if got.Code != 7 || !got.FinishedAt.Equal(x.FinishedAt) {
				s.Fatalf("exit state %+v, inspect %+v", got, x)
			}
		}
	}},
	{"AnOOMKillIsReported", func(s *suite) {
		s.need(s.OOM.Image != "", "program that runs out of memory")
		// An engine hears of the end of a process and of the kernel's reason on two
		// ways, and may not put them together each time. It must most times.
		for range oomTries {
			spec := s.spec(s.OOM)
			spec.Resources.MemoryBytes = SuiteOOMLimit
			x := s.waitStatus(s.run(spec), docker.StatusExited).Exit
			if x.Code != 137 {
				s.Fatalf("exit %+v", x)
			}
			if x.OOMKilled {
				return
			}
		}
		s.Fatalf("%d processes that ran out of memory ended without OOMKilled", oomTries)
	}},
	{"InspectOfAMissingContainerIsNotFound", func(s *suite) {
		_, err := s.Runtime.Inspect(s.ctx, s.name("none"))
		s.wantErr(err, docker.IsNotFound, "inspect")
		s.wantErr(err, func(err error) bool { return !docker.IsImageNotFound(err) }, "inspect is about no image")
	}},
	{"RemoveOfARunningContainerIsAConflict", func(s *suite) {
		id := s.run(s.spec(s.Sleep))
		s.wantErr(s.Runtime.Remove(s.ctx, id), docker.IsConflict, "remove")
		if !s.inspect(id).Running() {
			s.Fatal("the refused remove ended it")
		}
	}},
	{"RemoveDeletesAndAMissingContainerIsRemoved", func(s *suite) {
		spec := s.spec(s.Sleep)
		id := s.run(spec)
		s.must(s.Runtime.Stop(s.ctx, id, 0), "stop")
		s.must(s.Runtime.Remove(s.ctx, id), "remove")
		_, err := s.Runtime.Inspect(s.ctx, id)
		s.wantErr(err, docker.IsNotFound, "inspect")
		s.must(s.Runtime.Remove(s.ctx, id), "remove again by id")
		s.must(s.Runtime.Remove(s.ctx, spec.Name), "remove again by name")
		s.create(spec) // the name is free
	}},
	{"UpdateChangesLimitsInPlace", func(s *suite) {
		spec := s.spec(s.Sleep)
		spec.Resources = docker.Resources{MemoryBytes: 64 << 20, NanoCPUs: 5e8}
		id := s.run(spec)
		before := s.inspect(id)
		if before.Resources.MemoryBytes != 64<<20 || before.Resources.NanoCPUs != 5e8 {
			s.Fatalf("created with %+v", before.Resources)
		}
		change := docker.Resources{MemoryBytes: 128 << 20}
		s.must(s.Runtime.Update(s.ctx, id, docker.ContainerUpdate{Resources: &change}), "update")
		after := s.inspect(id)
		if after.Resources.MemoryBytes != 128<<20 || after.Resources.NanoCPUs != 5e8 {
			s.Fatalf("resources %+v after an update to %+v", after.Resources, change)
		}
		if !after.Running() || !after.Started.Equal(before.Started) {
			s.Fatal("the update restarted it")
		}
	}},
	{"UpdateOfAMissingContainerIsNotFound", func(s *suite) {
		p := docker.RestartNo
		s.wantErr(s.Runtime.Update(s.ctx, s.name("none"), docker.ContainerUpdate{Restart: &p}), docker.IsNotFound, "update")
	}},
	{"CallsMayOverlap", func(s *suite) {
		n := s.network(nil)
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			spec := docker.ContainerSpec{Name: s.name("c"), Image: s.Sleep.Image, Command: s.Sleep.Command, Env: s.Sleep.Env, Labels: map[string]string{s.Prefix: "yes"},
				Network: docker.NetworkAttachment{Network: n.Name, Address: nth(n.Subnet, 20+i)}}
			id := s.create(spec)
			wg.Go(func() {
				errs[i] = errors.Join(s.Runtime.Start(s.ctx, id), s.Runtime.Stop(s.ctx, id, 0), s.Runtime.Remove(s.ctx, id))
			})
		}
		wg.Wait()
		s.must(errors.Join(errs...), "overlapping calls")
	}},
}

// createAndStart returns the error of whichever call refuses, nil when none did.
func (s *suite) createAndStart(spec docker.ContainerSpec) error {
	id, err := s.Runtime.Create(s.ctx, spec)
	if err != nil {
		return err
	}
	s.cleanup(func(ctx context.Context) {
		_ = s.Runtime.Stop(ctx, id, 0)
		_ = s.Runtime.Remove(ctx, id)
	})
	return s.Runtime.Start(s.ctx, id)
}
