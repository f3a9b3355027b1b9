package application

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

func TestARefusalSaysWhatToDo(t *testing.T) {
	start := &Action{Kind: ActStart, Container: "shop-web-1", Release: &store.Release{Spec: spec.Service{
		Publish: []spec.PublishedPort{{Port: 80, HostPort: 123}, {Port: 81, HostPort: 1234}},
	}}}
	oci := func(s string) error {
		return errors.New("start container shop-web-1: OCI runtime create failed: unable to start container process: " + s + ": unknown")
	}
	for _, tc := range []struct {
		name   string
		action *Action
		err    error
		says   []string
	}{
		{"a port", start, fmt.Errorf("%w: listen tcp4 127.0.0.1:1234: bind: address already in use", docker.ErrPortInUse),
			[]string{"host port 1234 is taken", "another host_port"}},
		{"a port that is not told", start, fmt.Errorf("%w: bind", docker.ErrPortInUse), []string{"a published host port is taken"}},
		{"no such command", start, oci(`exec: "serve": executable file not found in $PATH`), []string{`has no program "serve"`, "check its command"}},
		{"no such path", start, oci(`exec: "/srv": stat /srv: no such file or directory`), []string{`has no program "/srv"`}},
		{"a folder", start, oci(`exec: "/srv": permission denied`), []string{`"/srv" in its image is not executable`}},
		{"a foreign program", start, oci(`exec: "/srv": exec format error`), []string{"another kind of processor"}},
		{"another exec", start, oci(`exec: "/srv": too late`), []string{`"/srv" cannot be run`, "too late"}},
		{"anything else", start, errors.New("as it is"), []string{"as it is"}},
		{"a build that is gone", &Action{Kind: ActCreate, Release: &store.Release{ID: "shop-web-v2", Image: "web:1", ImageID: "sha256:0123456789abcdef", Local: true}},
			fmt.Errorf("create: %w", docker.ErrImageNotFound), []string{"shop-web-v2", "web:1", "sha256:0123456789ab", "is gone"}},
		{"a full network", &Action{Kind: ActCreate, Container: "shop-web-1"}, fmt.Errorf("address: %w", store.ErrSubnetFull),
			[]string{"shop-web-1", "253 containers", "fewer"}},
		{"a foreign volume", &Action{Kind: ActEnsureVolume, Volume: "data"}, fmt.Errorf("%w: it has another label", docker.ErrConflict),
			[]string{"volume data", "another label", "copy it"}},
		{"a create", &Action{Kind: ActCreate}, oci(`exec: "/srv": no such file`), []string{"OCI runtime"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := explainRefusal(tc.action, tc.err)
			for _, want := range tc.says {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in %q", want, got)
				}
			}
			if strings.HasSuffix(got, ": unknown") && tc.action == start {
				t.Errorf("the engine's filler is left in %q", got)
			}
		})
	}
}

// errPasses is a failure of the engine that could be over with the next try.
var errPasses = errors.New("the engine is out of breath")

func TestAnAttemptIsGivenUpAfterSoManyFailuresInARowAndNotBefore(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault dockertest.Fault
		want  store.AttemptState
	}{
		{"one too few", dockertest.Fault{Times: patience - 1, Err: errPasses}, store.AttemptSucceeded},
		{"enough", dockertest.Fault{Times: patience, Err: errPasses}, store.AttemptFailed},
		{"an engine that is away", dockertest.Fault{Times: 3 * patience}, store.AttemptSucceeded},
		{"passes that were called off", dockertest.Fault{Times: 3 * patience, Err: context.Canceled}, store.AttemptSucceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec("good:1"))
			r.settle(20, time.Minute)
			c.fault.Call, c.fault.Kind = dockertest.CallCreate, dockertest.FailBefore
			r.engine.Script(c.fault)
			r.apply(r.spec("good:2"))
			r.settle(60, time.Minute)
			if a := r.attempt(); a.State != c.want {
				t.Errorf("attempt %s %s: %s; want %s", a.State, a.Reason, a.Message, c.want)
			}
		})
	}
}
