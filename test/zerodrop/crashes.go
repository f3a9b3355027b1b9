package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/container"
	moby "github.com/moby/moby/client"
)

// recoversWithin bounds the return of a killed replica.
const recoversWithin = 30 * time.Second

// crashes kills one replica after the other, each time once all are ready.
func (x *runner) crashes(ctx context.Context) error {
	if err := x.line.proven(ctx); err != nil {
		return err
	}
	for range x.o.crashes {
		if err := x.allServe(ctx); err != nil {
			return err
		}
		list, err := x.containers(ctx)
		if err != nil {
			return err
		}
		if err := x.crash(ctx, list[x.rng.IntN(len(list))]); err != nil {
			return err
		}
		x.made.crashes++
		if !pause(ctx, time.Second+upTo(x.rng, 2*time.Second)) {
			return ctx.Err()
		}
	}
	return x.allServe(ctx)
}

// crash kills the program in a container. The engine takes that for a crash,
// which it does not with a kill that it is asked for.
func (x *runner) crash(ctx context.Context, c container.Summary) error {
	got, err := x.engine.ContainerInspect(ctx, c.ID, moby.ContainerInspectOptions{})
	if err != nil {
		return err
	}
	pid := got.Container.State.Pid
	if pid <= 1 {
		return fmt.Errorf("container %s has process %d", c.ID, pid)
	}
	x.o.say("replica %v is killed", c.Names)
	return syscall.Kill(pid, syscall.SIGKILL)
}

// allServe waits until every replica takes requests.
func (x *runner) allServe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, recoversWithin)
	defer cancel()
	for {
		now, err := x.status(ctx)
		if err == nil && len(now.Active.Targets) == x.o.replicas {
			return nil
		}
		if !pause(ctx, 100*time.Millisecond) {
			return errors.Join(fmt.Errorf("not all of %d replicas serve", x.o.replicas), err)
		}
	}
}
