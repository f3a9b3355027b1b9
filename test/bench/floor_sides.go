package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Each operation of a call, by the floor and by the plain program.

func (s *pairOf) floorStatus(ctx context.Context, _ int) (sample, error) {
	return s.floor.timed(func() error {
		st, err := s.p.Status(ctx, s.workload)
		if err == nil && !st.Ready {
			err = fmt.Errorf("not ready: %+v", st)
		}
		return err
	})
}

func (s *pairOf) plainStatus(ctx context.Context, _ int) (sample, error) {
	return s.plain.timed(func() error {
		c, err := s.plain.find(ctx, s.group)
		if err != nil {
			return err
		}
		return s.plain.look(ctx, c)
	})
}

// The command is the program of the image, told to print two lines and end.
var (
	endAtOnce    = []string{"/program"}
	endAtOnceEnv = map[string]string{"MODE": "exit", "EXIT_CODE": "0", "LOG_LINES": "1"}
)

func (s *pairOf) floorExec(ctx context.Context, _ int) (sample, error) {
	return s.floor.timed(func() error {
		res, err := s.p.Exec(ctx, s.workload, provider.ExecRequest{Command: endAtOnce, Env: endAtOnceEnv})
		if err == nil && (res.ExitCode != 0 || len(res.Stdout) == 0) {
			err = fmt.Errorf("exit code %d: %s", res.ExitCode, res.Stderr)
		}
		return err
	})
}

func (s *pairOf) plainExec(ctx context.Context, _ int) (sample, error) {
	return s.plain.timed(func() error {
		c, err := s.plain.find(ctx, s.group)
		if err != nil {
			return err
		}
		return s.plain.exec(ctx, c, environment(endAtOnceEnv), endAtOnce)
	})
}

func environment(env map[string]string) []string {
	var out []string
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	return out
}

func (s *pairOf) floorLogs(ctx context.Context, _ int) (sample, error) {
	return s.floor.timed(func() error {
		stream, err := s.p.Logs(ctx, s.workload, provider.LogOptions{Tail: tailLines})
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		text, err := io.ReadAll(stream)
		if n := bytes.Count(text, []byte("\n")); err == nil && n != tailLines {
			err = fmt.Errorf("%d lines", n)
		}
		return err
	})
}

func (s *pairOf) plainLogs(ctx context.Context, _ int) (sample, error) {
	return s.plain.timed(func() error {
		c, err := s.plain.find(ctx, s.group)
		if err != nil {
			return err
		}
		n, err := s.plain.logs(ctx, c, tailLines)
		if err == nil && n < tailLines {
			err = fmt.Errorf("%d bytes", n)
		}
		return err
	})
}

func (s *pairOf) floorResources(ctx context.Context, _ int) (sample, error) {
	return s.floor.timed(func() error {
		_, err := s.p.Resources(ctx, s.workload)
		return err
	})
}

func (s *pairOf) plainResources(ctx context.Context, _ int) (sample, error) {
	return s.plain.timed(func() error {
		c, err := s.plain.find(ctx, s.group)
		if err != nil {
			return err
		}
		return s.plain.stats(ctx, c)
	})
}

func (s *pairOf) floorStopStart(ctx context.Context, _ int) (sample, error) {
	return s.floor.timed(func() error {
		if err := s.p.Stop(ctx, s.workload); err != nil {
			return err
		}
		if err := s.p.Start(ctx, s.workload); err != nil {
			return err
		}
		return s.ready(ctx, s.workload)
	})
}

func (s *pairOf) plainStopStart(ctx context.Context, _ int) (sample, error) {
	return s.plain.timed(func() error { return s.group.restart(ctx, s.container, "0") })
}

func (s *pairOf) floorProvision(ctx context.Context, _ int) (sample, error) {
	workload := id.New(id.KindWorkload)
	took, err := s.floor.timed(func() error {
		return s.provision(ctx, workload, []provider.ServiceSpec{web("0")})
	})
	if err != nil {
		return took, err
	}
	return took, s.p.Deprovision(ctx, workload)
}

func (s *pairOf) plainProvision(ctx context.Context, _ int) (sample, error) {
	var g *group
	took, err := s.plain.timed(func() (err error) {
		if g, err = s.plain.newGroup(ctx); err != nil {
			return err
		}
		_, err = g.serve(ctx, "web", port, "0")
		return err
	})
	if err != nil {
		return took, err
	}
	return took, g.remove()
}

func (s *pairOf) floorDeploy(ctx context.Context, round int) (sample, error) {
	took, err := s.floor.timed(func() error {
		_, err := s.p.Deploy(ctx, provider.DeployRequest{
			InstanceID: s.workload, ReleaseID: id.New(id.KindRelease), Strategy: provider.StrategyBlueGreen,
			Services: []provider.ServiceDeploySpec{{Name: "web", Image: ref, Env: map[string]string{"VERSION": strconv.Itoa(round + 1)}}},
		})
		if err != nil {
			return err
		}
		return s.serves(ctx, s.workload)
	})
	if err != nil {
		return took, err
	}
	return took, s.settle(ctx, s.workload, 1)
}

func (s *pairOf) plainDeploy(ctx context.Context, round int) (sample, error) {
	old := s.container
	took, err := s.plain.timed(func() (err error) {
		s.container, err = s.group.serve(ctx, "web", port, strconv.Itoa(round+1))
		return err
	})
	if err != nil {
		return took, err
	}
	return took, s.group.drop(old)
}
