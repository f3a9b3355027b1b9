package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// maxDeployRatio is a deploy divided by what the engine alone needs.
const maxDeployRatio = 1.25

const (
	app  = "bench"
	host = "bench.localhost"
)

// file is the app in a version. The probe is declared and the stable window 0,
// so that nothing but work stands between the change and its first request.
func file(version string) string {
	return `name: ` + app + `
services:
  web:
    image: ` + ref + `
    port: ` + strconv.Itoa(port) + `
    domains: [` + host + `]
    env: {VERSION: "` + version + `"}
    stable_window: 0s
    health:
      readiness: {path: /healthz}
`
}

// measureDeploy changes a service and starts the same image without Berth, in
// turns.
func measureDeploy(ctx context.Context, o options) (_ []line, err error) {
	var r *raw
	b, err := startBerth(ctx, o)
	// What is left is taken away once nobody is there who would make it again.
	defer func() { err = errors.Join(err, b.deleteApp(), b.stop(), r.clean(b.instance)) }()
	if err != nil {
		return nil, err
	}
	if r, err = newRaw(ctx, o); err != nil {
		return nil, err
	}
	steps := &steps{}
	// The first of each warms caches and makes the network; it does not count.
	if _, err := b.deploy(ctx, "0", &stepsOfOne{}); err != nil {
		return nil, err
	}
	if _, err := r.deploy(ctx, "0", &stepsOfOne{}); err != nil {
		return nil, err
	}
	var with, without []time.Duration
	var ratios []float64
	for i := 1; i <= o.pairs; i++ {
		version := strconv.Itoa(i)
		one := &stepsOfOne{}
		var ours, plain time.Duration
		both := []func() error{
			func() (err error) {
				if ours, err = b.deploy(ctx, version, one); err != nil {
					return err
				}
				return r.settled(ctx, b.instance)
			},
			func() (err error) { plain, err = r.deploy(ctx, version, one); return err },
		}
		for j := range both {
			if err := both[(i+j)%2](); err != nil {
				return nil, err
			}
		}
		steps.add(one)
		with, without = append(with, ours), append(without, plain)
		ratios = append(ratios, float64(ours)/float64(plain))
	}
	if o.trace {
		steps.print()
	}
	return []line{{
		What: "deploy: from `apply` to the first request served by the new release, against raw engine create + start + first 200", Value: median(ratios), Format: "%.2f ×", Target: maxDeployRatio,
		Detail: fmt.Sprintf("%d pairs, middle half %.2f to %.2f; medians %s and %s", o.pairs, quantile(ratios, 0.25), quantile(ratios, 0.75),
			median(with).Round(100*time.Microsecond), median(without).Round(100*time.Microsecond)),
	}}, nil
}

// deploy applies a version and waits for it to answer through the data plane,
// then for the end of its attempt.
func (b *berth) deploy(ctx context.Context, version string, one *stepsOfOne) (time.Duration, error) {
	site := newSite("http://"+b.http+"/", host)
	defer site.close()
	begun := time.Now()
	change, err := b.client.Apply(ctx, wire.ApplyRequest{Source: file(version)})
	if err != nil {
		return 0, err
	}
	if change.Attempt == nil {
		return 0, fmt.Errorf("version %s is no change", version)
	}
	one.note("answered", time.Since(begun))
	if err := site.await(ctx, version); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, b.logEnd())
	}
	took := time.Since(begun)
	one.note("served", took)
	final, err := b.client.FollowAttempt(ctx, change.Attempt.ID, 0, client.Follower{Trace: func(e wire.TraceEvent) {
		one.note(e.Phase+" "+e.Status, e.Time.Sub(begun))
	}})
	if err != nil {
		return 0, err
	}
	if final.State != wire.AttemptSucceeded {
		return 0, fmt.Errorf("version %s: attempt %d %s: %+v", version, final.ID, final.State, final.Services)
	}
	return took, nil
}

// deleteApp lets Berth take its own things away; clean sees to what is left.
func (b *berth) deleteApp() error {
	if b.instance == "" {
		return nil // it never served
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanTime)
	defer cancel()
	change, err := b.client.Delete(ctx, app, client.DeleteOptions{AllowRemove: true})
	if client.IsProblem(err, wire.ProblemNotFound) {
		return nil
	}
	if err != nil || change.Attempt == nil {
		return err
	}
	_, err = b.client.FollowAttempt(ctx, change.Attempt.ID, 0, client.Follower{})
	return err
}
