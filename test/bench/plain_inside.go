package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// find is the container of a group, by its label: whoever looks into a workload
// knows which one it is and no more.
func (p *plain) find(ctx context.Context, g *group) (id string, err error) {
	list, err := p.list(ctx, map[string]string{labelPlain: g.network})
	if err != nil {
		return "", err
	}
	if len(list) != 1 {
		return "", fmt.Errorf("%d containers", len(list))
	}
	return list[0].ID, nil
}

// look inspects a container: a listing tells neither when it started nor whether
// it was started again.
func (p *plain) look(ctx context.Context, id string) error {
	res, err := p.engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err == nil && !res.Container.State.Running {
		err = fmt.Errorf("container %s does not run", id)
	}
	return err
}

// exec runs a command and reads what it prints.
func (p *plain) exec(ctx context.Context, name string, env, command []string) error {
	made, err := p.engine.ExecCreate(ctx, name, client.ExecCreateOptions{Cmd: command, Env: env, AttachStdout: true, AttachStderr: true})
	if err != nil {
		return err
	}
	stream, err := p.engine.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return err
	}
	_, err = stdcopy.StdCopy(io.Discard, io.Discard, stream.Reader)
	stream.Close()
	if err != nil {
		return err
	}
	res, err := p.engine.ExecInspect(ctx, made.ID, client.ExecInspectOptions{})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("exit code %d", res.ExitCode)
	}
	return err
}

// logs reads the last lines of a container.
func (p *plain) logs(ctx context.Context, name string, tail int) (int64, error) {
	stream, err := p.engine.ContainerLogs(ctx, name, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Timestamps: true, Tail: strconv.Itoa(tail),
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = stream.Close() }()
	return stdcopy.StdCopy(io.Discard, io.Discard, stream)
}

// stats takes one sample of a container.
func (p *plain) stats(ctx context.Context, name string) error {
	res, err := p.engine.ContainerStats(ctx, name, client.ContainerStatsOptions{IncludePreviousSample: true})
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	var s container.StatsResponse
	return json.NewDecoder(res.Body).Decode(&s)
}
