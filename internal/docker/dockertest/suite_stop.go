package dockertest

import (
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

var stopCases = []SuiteCase{
	{"StopEndsAContainerAndRepeatedStopSucceeds", func(s *suite) {
		id := s.run(s.spec(s.Sleep))
		s.must(s.Runtime.Stop(s.ctx, id, 20*time.Second), "stop")
		st := s.inspect(id)
		if st.Status != docker.StatusExited || st.Exit.Code != 0 || st.Exit.FinishedAt.IsZero() {
			s.Fatalf("status %s, exit %+v", st.Status, st.Exit)
		}
		if took := st.Exit.FinishedAt.Sub(st.Exit.StartedAt); took > 15*time.Second {
			s.Fatalf("it ended after %v, so the signal did not reach it", took)
		}
		s.must(s.Runtime.Stop(s.ctx, id, 20*time.Second), "stop again")
		if again := s.inspect(id); !again.Exit.FinishedAt.Equal(st.Exit.FinishedAt) {
			s.Fatal("the second stop changed something")
		}
	}},
	{"StopOfACreatedContainerSucceeds", func(s *suite) {
		id := s.create(s.spec(s.Sleep))
		s.must(s.Runtime.Stop(s.ctx, id, time.Second), "stop")
		if st := s.inspect(id); st.Status != docker.StatusCreated {
			s.Fatalf("status %s", st.Status)
		}
	}},
	{"StopOfAMissingContainerIsNotFound", func(s *suite) {
		s.wantErr(s.Runtime.Stop(s.ctx, s.name("none"), 0), docker.IsNotFound, "stop")
	}},
	{"StopKillsAfterTheGraceRoundedUp", func(s *suite) {
		s.need(s.Stubborn.Image != "", "program that ignores SIGTERM")
		id := s.run(s.spec(s.Stubborn))
		s.must(s.Runtime.Stop(s.ctx, id, 1200*time.Millisecond), "stop")
		st := s.inspect(id)
		if st.Status != docker.StatusExited || st.Exit.Code != 137 || st.Exit.OOMKilled {
			s.Fatalf("status %s, exit %+v", st.Status, st.Exit)
		}
		if took := st.Exit.FinishedAt.Sub(st.Exit.StartedAt); took < 1900*time.Millisecond || took > 10*time.Second {
			s.Fatalf("killed after %v, want 2s", took)
		}
	}},
}

var restartCases = []SuiteCase{
	{"RestartNoLeavesAnEndedContainer", func(s *suite) {
		spec := s.spec(s.Exit(0))
		spec.Restart = docker.RestartNo
		id := s.run(spec)
		st := s.waitStatus(id, docker.StatusExited)
		if st.RestartCount != 0 || st.Restart != docker.RestartNo {
			s.Fatalf("restart count %d, policy %s", st.RestartCount, st.Restart)
		}
	}},
	{"UnlessStoppedRestartsUntilStopped", func(s *suite) {
		id := s.run(s.crashLoop())
		if !s.Wait(func() bool { return s.inspect(id).RestartCount >= 2 }) {
			s.Fatal("it was not restarted twice")
		}
		s.wantErr(s.removeWhileLooping(id), docker.IsConflict, "remove in a crash loop")
		s.must(s.Runtime.Stop(s.ctx, id, time.Second), "stop")
		st := s.inspect(id)
		if st.Status != docker.StatusExited || st.Exit.Code != 3 {
			s.Fatalf("status %s, exit %+v", st.Status, st.Exit)
		}
		s.must(s.Runtime.Remove(s.ctx, id), "remove")
	}},
	{"UpdateOfTheRestartPolicyTakesEffect", func(s *suite) {
		spec := s.crashLoop()
		spec.Restart = docker.RestartNo
		id := s.run(spec)
		s.waitStatus(id, docker.StatusExited)
		always, never := docker.RestartUnlessStopped, docker.RestartNo
		s.must(s.Runtime.Update(s.ctx, id, docker.ContainerUpdate{Restart: &always}), "update")
		if st := s.inspect(id); st.Restart != always || st.Status != docker.StatusExited {
			s.Fatalf("policy %s, status %s", st.Restart, st.Status)
		}
		s.must(s.Runtime.Start(s.ctx, id), "start")
		if !s.Wait(func() bool { return s.inspect(id).RestartCount >= 1 }) {
			s.Fatal("it was not restarted under the new policy")
		}
		// Engines refuse an update that meets the process just as it ends.
		var err error
		if !s.Wait(func() bool {
			err = s.Runtime.Update(s.ctx, id, docker.ContainerUpdate{Restart: &never})
			return err == nil
		}) {
			s.Fatalf("update back: %v", err)
		}
		st := s.waitStatus(id, docker.StatusExited)
		if st.Restart != never {
			s.Fatalf("policy %s", st.Restart)
		}
	}},
	{"AStartByACallerResetsTheRestartCount", func(s *suite) {
		id := s.run(s.crashLoop())
		if !s.Wait(func() bool { return s.inspect(id).RestartCount >= 1 }) {
			s.Fatal("it was not restarted")
		}
		s.must(s.Runtime.Stop(s.ctx, id, time.Second), "stop")
		never := docker.RestartNo
		s.must(s.Runtime.Update(s.ctx, id, docker.ContainerUpdate{Restart: &never}), "update")
		s.must(s.Runtime.Start(s.ctx, id), "start")
		if st := s.waitStatus(id, docker.StatusExited); st.RestartCount != 0 {
			s.Fatalf("restart count %d", st.RestartCount)
		}
	}},
}

// crashLoop is a container that exits 3 again and again.
func (s *suite) crashLoop() docker.ContainerSpec {
	spec := s.spec(s.Exit(3))
	spec.Restart = docker.RestartUnlessStopped
	return spec
}

// removeWhileLooping tries to remove a container of a crash loop. An engine
// may pass through a moment in which it has just ended; a remove that hits it
// would succeed, so it waits for the engine to say restarting first.
func (s *suite) removeWhileLooping(id string) error {
	s.waitStatus(id, docker.StatusRestarting)
	return s.Runtime.Remove(s.ctx, id)
}
