package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

const (
	service = "web"
	// changesWithin bounds one change, kills and all.
	changesWithin = 2 * time.Minute
	// settlesWithin bounds how long after a change old containers may be there.
	settlesWithin = time.Minute
)

// app is what is asked of the app.
type app struct {
	version  string
	replicas int
	rolling  bool
}

func (p *plane) host() string { return p.name + ".localhost" }

// appFile is the app.yaml. The program takes a moment before it listens, so that there is
// a time of probing.
func (p *plane) appFile(a app) string {
	var b strings.Builder
	fmt.Fprintf(&b, `name: %s
node: {labels: {group: %s}}
spread: true
services:
  %s:
    image: %s:%s
    port: 8080
    domains: [%s]
    replicas: %d
    env: {START_DELAY: 200ms}
    health: {readiness: {path: /healthz, interval: 1s}}
    drain_timeout: %dms
`, p.name, group, service, p.s.repository, a.version, p.host(), a.replicas, p.s.o.drainTimeout().Milliseconds())
	if a.rolling {
		b.WriteString("    strategy: rolling\n    max_surge: 2\n    max_unavailable: 0\n")
	}
	return b.String()
}

// apply asks for a change and returns the number of its attempt.
func (p *plane) apply(ctx context.Context, a app) (int64, error) {
	out, err := p.berth(ctx, p.appFile(a), "apply", "--file", "-", "--yes", "--detach", "--output", "json")
	if err != nil {
		return 0, err
	}
	var made wire.ChangeResult
	if err := json.Unmarshal(out, &made); err != nil {
		return 0, fmt.Errorf("berth apply printed %q: %w", out, err)
	}
	if made.Attempt != nil {
		return made.Attempt.ID, nil
	}
	// Nothing was left to change: an earlier try came through, and its answer was lost.
	id := int64(0)
	err = until(ctx, "the attempt", changesWithin, func(ctx context.Context) (string, error) {
		now, err := p.client.App(ctx, p.name)
		if err != nil || len(now.Services) != 1 {
			return "the app has no service", err
		}
		id = now.Services[0].AttemptID
		return "", nil
	})
	return id, err
}

// follow waits until an attempt has succeeded, and tells of its phases.
func (p *plane) follow(ctx context.Context, id int64, phase func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, changesWithin)
	defer cancel()
	last := int64(0)
	var steps strings.Builder
	for {
		final, err := p.client.FollowAttempt(ctx, id, last, client.Follower{Trace: func(e wire.TraceEvent) {
			last = e.ID
			fmt.Fprintf(&steps, "\n  %s %s %s: %s", e.Time.Local().Format("15:04:05.000"), e.Phase, e.Status, e.Message)
			phase(e.Phase)
		}})
		switch {
		case err != nil && away(err) && pause(ctx, tryAgain):
			continue
		case err != nil:
			return fmt.Errorf("attempt %d: %w%s", id, err, &steps)
		case final.State == wire.AttemptSucceeded:
			return nil
		}
		why := ""
		for _, svc := range final.Services {
			why += fmt.Sprintf("; %s %s: %s: %s", svc.Service, svc.State, svc.Reason, svc.Message)
		}
		return fmt.Errorf("attempt %d ended as %s%s%s", id, final.State, why, &steps)
	}
}

// settled waits until the app is what was asked for and nothing else is there: so many
// replicas that take requests, on each of these machines as many as on every other.
func (p *plane) settled(ctx context.Context, what string, limit time.Duration, a app, on []string) error {
	return until(ctx, what, limit, func(ctx context.Context) (string, error) {
		now, err := p.client.App(ctx, p.name)
		if err != nil {
			return "", err
		}
		if len(now.Services) != 1 || now.Services[0].Active == nil {
			return "nothing serves", nil
		}
		svc := &now.Services[0]
		if now.State != wire.StateReady || !strings.HasSuffix(svc.Active.Image, ":"+a.version) || len(svc.Active.Targets) != a.replicas {
			return fmt.Sprintf("the app is %s, %d replicas of %s serve, %s", now.State, len(svc.Active.Targets), svc.Active.Image, told(svc.Conditions)), nil
		}
		containers, err := p.client.Containers(ctx, p.name)
		if err != nil {
			return "", err
		}
		takes := 0
		for i := range containers.Containers {
			if containers.Containers[i].Traffic {
				takes++
			}
		}
		if len(containers.Containers) != a.replicas || takes != a.replicas {
			return fmt.Sprintf("%d containers are there, and %d of them take requests", len(containers.Containers), takes), nil
		}
		return p.spread(ctx, a.replicas, on)
	})
}

// spread says what is missing of an even spread over these nodes alone.
func (p *plane) spread(ctx context.Context, replicas int, on []string) (string, error) {
	list, err := p.client.Nodes(ctx)
	if err != nil {
		return "", err
	}
	has := map[string]int{}
	for i := range list.Nodes {
		for _, a := range list.Nodes[i].Apps {
			if a.App == p.name && a.Containers > 0 {
				has[list.Nodes[i].ID] += a.Containers
			}
		}
	}
	want := map[string]int{}
	for _, id := range on {
		want[id] = replicas / len(on)
	}
	if !maps.Equal(has, want) {
		return fmt.Sprintf("the nodes have %v, and shall have %v", has, want), nil
	}
	return "", nil
}

func told(all []wire.Condition) string {
	var parts []string
	for _, c := range all {
		if c.Status != "True" {
			parts = append(parts, fmt.Sprintf("%s %s: %s %s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

// deleted removes the app and waits until nothing is known of it.
func (p *plane) deleted(ctx context.Context) error {
	if _, err := p.berth(ctx, "", "delete", p.name, "--yes"); err != nil {
		return err
	}
	return until(ctx, "the app is gone", settlesWithin, func(ctx context.Context) (string, error) {
		now, err := p.client.App(ctx, p.name)
		if client.IsProblem(err, wire.ProblemNotFound) {
			return "", nil
		}
		return "it is " + string(now.State), err
	})
}
