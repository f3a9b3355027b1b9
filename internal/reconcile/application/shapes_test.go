package application

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/secrets"
)

// groupImages are what inits, sidecars and jobs are made of.
var groupImages = map[string]dockertest.Behaviour{
	"init:1":     {Exit: &dockertest.Exit{After: 50 * time.Millisecond}},
	"init:bad":   {Exit: &dockertest.Exit{After: 40 * time.Millisecond, Code: 2}, Log: []dockertest.LogAt{{Text: "no schema"}}},
	"init:hangs": {},
	"side:1":     {},
	"side:2":     {},
	"side:ends":  {Exit: &dockertest.Exit{After: 300 * time.Millisecond, Code: 1}},
	"side:once":  {Exit: &dockertest.Exit{After: 8 * time.Second, Code: 1, Times: 1}},
	"job:1":      {Exit: &dockertest.Exit{After: 200 * time.Millisecond}},
	"job:2":      {Exit: &dockertest.Exit{After: 200 * time.Millisecond}},
	"job:bad":    {Exit: &dockertest.Exit{After: 200 * time.Millisecond, Code: 4}, Log: []dockertest.LogAt{{Text: "no such table"}}},
	"job:second": {PerRun: func(r dockertest.Run) dockertest.Behaviour {
		if r.Number == 0 {
			return dockertest.Behaviour{Exit: &dockertest.Exit{After: 100 * time.Millisecond, Code: 1}}
		}
		return dockertest.Behaviour{Exit: &dockertest.Exit{After: 100 * time.Millisecond}}
	}},
	"job:never": {},
	"hang:1":    hanging(),
	"half:1":    secondFails(),
	"exec:1":    {Port: 8080, Exec: readyAfter(400 * time.Millisecond)},
	"exec:bad":  {Port: 8080, Exec: readyAfter(time.Hour)},
}

// hanging answers for five seconds after each start; in its second run it does so for good.
func hanging() dockertest.Behaviour {
	return dockertest.Behaviour{PerRun: func(r dockertest.Run) dockertest.Behaviour {
		b := dockertest.Behaviour{Port: 8080, StartDelay: 20 * time.Millisecond}
		if r.Number == 0 {
			b.Paths = map[string][]dockertest.StatusAt{"*": {{Status: 200}, {After: 5 * time.Second, Status: 500}}}
		}
		return b
	}}
}

func readyAfter(age time.Duration) func(dockertest.ExecRun) dockertest.ExecOutcome {
	return func(r dockertest.ExecRun) dockertest.ExecOutcome {
		if r.Age < age {
			return dockertest.ExecOutcome{Code: 1, Stderr: "the index is being built\n", Takes: 5 * time.Millisecond}
		}
		return dockertest.ExecOutcome{Takes: 5 * time.Millisecond}
	}
}

// asGroup is a service with an init and a sidecar.
func asGroup(sidecar string) func(*spec.Service) {
	return func(s *spec.Service) {
		s.Inits = []spec.Member{{Name: "migrate", Image: "init:1"}}
		s.Sidecars = []spec.Member{{Name: "log", Image: sidecar}}
	}
}

// asRolling is a service of three replicas that are replaced a few at a time.
func asRolling(surge, unavailable spec.Amount) func(*spec.Service) {
	return func(s *spec.Service) {
		s.Replicas, s.Strategy, s.MaxSurge, s.MaxUnavailable = 3, spec.Rolling, surge, unavailable
	}
}

// asStateful is a service whose replicas each write to a volume of their own.
func asStateful(s *spec.Service) {
	s.Replicas, s.Strategy, s.Stateful = 3, spec.Rolling, true
	s.Volumes = []spec.Volume{{Name: "data", Path: "/data"}}
}

// asJob is a service that runs to completion.
func asJob(restart spec.Restart) func(*spec.Service) {
	return func(s *spec.Service) {
		s.Port, s.Domains, s.Readiness, s.Restart, s.CompletionTimeout = 0, nil, nil, restart, time.Minute
	}
}

// withSecrets is a service with a secret in its environment and one in a file.
func withSecrets(s *spec.Service) {
	s.Env = []spec.EnvVar{{Name: "TOKEN", Secret: spec.SecretRef{Key: "shop/TOKEN"}}}
	s.Files = []spec.File{{Path: "/etc/app/config.yaml", Secret: spec.SecretRef{Key: "shop/config"}}}
}

// rigSecrets is the vault of a rig: the versions of each value, oldest first.
type rigSecrets map[string][]string

func (v rigSecrets) SecretVersion(_ context.Context, key string) (int64, error) {
	return int64(len(v[key])), nil
}

func (v rigSecrets) SecretValue(_ context.Context, key string, version int64) (secrets.Secret, error) {
	if version < 1 || int(version) > len(v[key]) {
		return secrets.Secret{}, fmt.Errorf("%s version %d: %w", key, version, secrets.ErrNotFound)
	}
	return secrets.NewSecretString(v[key][version-1]), nil
}
