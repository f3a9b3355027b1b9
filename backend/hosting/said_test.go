package hosting_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

// paper takes what is logged.
type paper struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// What fails a lease, in the words of its provider, and in those for its tenant: of what
// is begun, and of what changes it.
var told = map[string]struct {
	service  string
	operator string
	reason   backend.Reason
	tenant   string
	change   string // in place of tenant, of an update
}{
	"an image that is not there": {
		`{"image":"absent:1","ports":{"8080/tcp":{}}%s}`, "docker.io/library/absent:1", backend.ReasonImagePullFailed, "image pull failed", "update failed: image pull failed; rolled back",
	},
	"a command that is no program": {
		`{"image":"program:2","command":["/nowhere/hunter2"],"ports":{"8080/tcp":{}}%s}`, "no such file or directory",
		backend.ReasonContainerExited, "container could not start", "the new containers did not become ready",
	},
	"a program that ends": {
		`{"image":"program:2","args":["out:hunter2","exit:3"],"ports":{"8080/tcp":{}}%s}`, "ended with exit code 3",
		backend.ReasonContainerExited, "container exited during startup", "the new containers did not become ready",
	},
	"a port on which nothing listens": {
		`{"image":"program:2","args":["listen:8080","wait"],"ports":{"9999/tcp":{}}%s}`, "connection refused",
		backend.ReasonContainerExited, "container reported unhealthy: port 9999/tcp of service app refused the connection: nothing listens there", "",
	},
	"a health command that fails": {
		`{"image":"program:2","args":["listen:8080","wait"],"ports":{"8080/tcp":{}},"health_check":{"test":["CMD","/program","exit:4"],"interval":"1s","retries":1}%s}`,
		`"exit:4"] ended with 4`, backend.ReasonContainerExited, "container reported unhealthy: the health command of service app ended with exit code 4", "",
	},
}

// Who operates a backend reads what the provider said: in the lease, in its release, in
// what is left of it, and in the log. The tenant never does.
func TestTheOperatorIsToldInTheWordsOfTheProvider(t *testing.T) {
	for name, want := range told {
		for begin, call := range map[string]func(*world) error{"provision": provision(one(1), want.service), "update": update(one(1), want.service)} {
			t.Run(begin+" of "+name, func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					log := &paper{}
					w.logger = slog.New(slog.NewTextHandler(log, nil))
					w.open()
					w.cluster.AddImage("docker.io/library/absent:1", memory.Image{Missing: true})
					if begin == "update" {
						after(provision(one(1), serves(1)))(w)
					}
					after(call)(w)
					in, err := w.Inspect(context.Background(), leaseIDs[0])
					if err != nil {
						t.Fatal(err)
					}
					if last := in.Releases[len(in.Releases)-1]; !strings.Contains(in.Said, want.operator) || last.Said != in.Said {
						t.Errorf("the operator reads %q, and of the release %q; want %q", in.Said, last.Said, want.operator)
					}
					if !strings.Contains(strings.ReplaceAll(log.String(), `\"`, `"`), want.operator) {
						t.Errorf("the log does not say %q: %s", want.operator, log)
					}
					words := want.tenant
					if begin == "update" {
						words = cmp.Or(want.change, words)
					}
					w.tenantReads(t, want.reason, words, in.Said)
					after(deprovision)(w)
					if begin == "update" {
						return // it was ready, and nothing of it failed last
					}
					if in, err = w.Inspect(context.Background(), leaseIDs[0]); err != nil || !in.Gone || !strings.Contains(in.Said, want.operator) {
						t.Errorf("of the lease that is gone the operator reads %+v, %v", in, err)
					}
				})
			})
		}
	}
}

// tenantReads holds what the holder of a lease is told of a failure against what it may be.
func (w *world) tenantReads(t *testing.T, reason backend.Reason, words, said string) {
	t.Helper()
	info, err := w.GetProvision(context.Background(), leaseIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	releases, err := w.GetReleases(context.Background(), leaseIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	callbacks := w.calls.Of(leaseIDs[0])
	last := callbacks[len(callbacks)-1].Error
	if info.Status == failed && info.Reason != reason {
		t.Errorf("the reason is %s; want %s", info.Reason, reason)
	}
	if !strings.Contains(last, words) || len(last) > backend.MaxCallbackError {
		t.Errorf("the callback says %q; want %q", last, words)
	}
	all, err := json.Marshal([]any{info, releases, callbacks})
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(said)
	if strings.Contains(string(all), "hunter2") || strings.Contains(string(all), strings.Trim(string(quoted), `"`)) {
		t.Errorf("the tenant reads %s", all)
	}
}

// The words of a provider become those for tenants, or nothing; what a tenant's program
// printed is none of them.
func TestWhatAProbeFoundHasWordsOfOurOwn(t *testing.T) {
	port := &manifest.Service{Ports: []manifest.Port{{Number: 80, Protocol: manifest.TCP}}}
	exposed := &manifest.Service{Expose: []manifest.Port{{Number: 53, Protocol: manifest.UDP}, {Number: 81, Protocol: manifest.TCP}}}
	command := &manifest.Service{HealthCheck: &manifest.HealthCheck{}, Ports: port.Ports}
	for _, c := range []struct {
		service       *manifest.Service
		message, want string
	}{
		{port, `10.0.0.7:80 refused the connection: nothing listens on that port`, ": port 80/tcp of service app refused the connection: nothing listens there"},
		{exposed, `dial 10.0.0.7:81: connection refused`, ": port 81/tcp of service app refused the connection: nothing listens there"},
		{port, `10.0.0.7:80 did not answer within 5s: no connection was made`, ": port 80/tcp of service app did not answer in time"},
		{port, `10.0.0.7:80 closed the connection without an answer`, ": port 80/tcp of service app closed the connection"},
		{port, `container x was not ready within 5s: ; its last lines:\n  db refused`, ": port 80/tcp of service app has not succeeded"},
		{port, `it is something new at /var/lib/hunter2`, ": port 80/tcp of service app has not succeeded"},
		{command, `command "curl -f http://10.0.0.7/" exited with code 22: "hush"`, ": the health command of service app ended with exit code 22"},
		{command, `command "sleep 90" did not end within 5s`, ": the health command of service app did not end in time"},
		{command, `command "curl" could not be run: no such file`, ": the health command of service app could not be run"},
		{command, `10.0.0.7:80 refused the connection`, ": the health command of service app has not succeeded"},
		{&manifest.Service{}, ``, ": service app did not stay up"},
		{nil, `10.0.0.7:80 refused the connection`, ""},
	} {
		st := &provider.InstanceStatus{Reason: provider.ReasonReadyTimeout, Message: c.message}
		if code, words := hosting.Explain(st, c.service); code != backend.ReasonContainerExited || words != "container reported unhealthy"+c.want {
			t.Errorf("%q is %s: %s; want %s", c.message, code, words, c.want)
		}
	}
}

// That the containers of an update ended is not taken for what a probe found.
func TestAContainerThatEndedIsNoProbe(t *testing.T) {
	st := &provider.InstanceStatus{Reason: provider.ReasonRolloutFailed, Message: "container shop-1 exited with code 3 during the start; its last lines:\n  connection refused"}
	for _, s := range []*manifest.Service{nil, {Ports: []manifest.Port{{Number: 80, Protocol: manifest.TCP}}}, {HealthCheck: &manifest.HealthCheck{}}} {
		if _, words := hosting.Explain(st, s); words != "the new containers did not become ready" {
			t.Errorf("it is told as %q", words)
		}
	}
}

// However long a provider talks, what is kept of it is bounded, and is text.
func TestWhatAProviderSaysHasABound(t *testing.T) {
	st := &provider.InstanceStatus{State: provider.StateFailed, Message: strings.Repeat("é", 5000) + "\xff"}
	if text := hosting.Said(st); len(text) > 2048 || len(text) < 2000 || !strings.HasSuffix(text, "é…") {
		t.Errorf("it is %d bytes", len(text))
	}
}

// A provider that refuses every call until there is no more time is told as it is.
func TestAProviderThatTakesNoCallsIsToldToTheOperator(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onMoments(func(_ int, what string) (error, bool) {
			if what == "before provision" {
				return errKilled, false
			}
			return nil, false
		})
		if err := provision(one(1), serves(1))(w); err != nil {
			t.Fatal(err)
		}
		looked := false
		if !w.wait(func() bool {
			in, err := w.Inspect(context.Background(), leaseIDs[0])
			looked = looked || err == nil && in.Op != nil && strings.Contains(in.Said, errKilled.Error())
			return err == nil && in.Lease.Status == failed
		}) {
			t.Fatal("it does not fail")
		}
		in, err := w.Inspect(context.Background(), leaseIDs[0])
		if err != nil || !looked || !strings.Contains(in.Said, errKilled.Error()) || in.Lease.Message != "the lease was not ready in time" {
			t.Errorf("meanwhile it was told: %t; then %q and %q, %v", looked, in.Said, in.Lease.Message, err)
		}
	})
}
