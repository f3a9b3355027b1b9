package instrument

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// everything is a provider with every optional interface, of which each method
// notes its name, takes a second and fails with err.
type everything struct {
	calls *[]string
	err   error
}

func (e everything) do(name string) error {
	*e.calls = append(*e.calls, name)
	<-time.After(time.Second)
	return e.err
}

func (e everything) Info() provider.ProviderInfo { return provider.ProviderInfo{Name: "fake"} }
func (e everything) Capabilities() []provider.Capability {
	return []provider.Capability{provider.CapLogs}
}
func (e everything) Provision(context.Context, provider.ProvisionRequest) (*provider.ProvisionResult, error) {
	return &provider.ProvisionResult{ProviderRef: "x"}, e.do("Provision")
}
func (e everything) Deprovision(context.Context, id.ID) error { return e.do("Deprovision") }
func (e everything) Start(context.Context, id.ID) error       { return e.do("Start") }
func (e everything) Stop(context.Context, id.ID) error        { return e.do("Stop") }
func (e everything) Restart(context.Context, id.ID) error     { return e.do("Restart") }
func (e everything) Status(context.Context, id.ID) (*provider.InstanceStatus, error) {
	return nil, e.do("Status")
}
func (e everything) Deploy(context.Context, provider.DeployRequest) (*provider.DeployResult, error) {
	return nil, e.do("Deploy")
}
func (e everything) Rollback(context.Context, id.ID, id.ID) error              { return e.do("Rollback") }
func (e everything) Scale(context.Context, id.ID, provider.ResourceSpec) error { return e.do("Scale") }
func (e everything) Resources(context.Context, id.ID) (*provider.ResourceUsage, error) {
	return nil, e.do("Resources")
}
func (e everything) Logs(context.Context, id.ID, provider.LogOptions) (io.ReadCloser, error) {
	return nil, e.do("Logs")
}
func (e everything) Exec(context.Context, id.ID, provider.ExecRequest) (*provider.ExecResult, error) {
	return nil, e.do("Exec")
}
func (e everything) HealthCheck(context.Context) (*provider.HealthStatus, error) {
	return nil, e.do("HealthCheck")
}
func (e everything) ReadinessPolicy() provider.ReadinessPolicy {
	return provider.ReadinessPolicy{Timeout: 7}
}
func (e everything) Step(context.Context, id.ID) (time.Duration, error) { return 7, e.do("Step") }
func (e everything) KeptVolumes(context.Context, string) ([]provider.KeptVolume, error) {
	return nil, e.do("KeptVolumes")
}
func (e everything) RemoveKeptVolume(context.Context, string, string) error {
	return e.do("RemoveKeptVolume")
}
func (e everything) KeptVolumeUsage(context.Context, string, []string) (map[string]int64, error) {
	return nil, e.do("KeptVolumeUsage")
}
func (e everything) InspectImage(context.Context, string) (*provider.ImageInfo, error) {
	return nil, e.do("InspectImage")
}
func (e everything) Watch(context.Context, func(), func(id.ID)) error { return e.do("Watch") }
func (e everything) HelmInstall(context.Context, provider.HelmInstallRequest) (*provider.ProvisionResult, error) {
	return nil, e.do("HelmInstall")
}
func (e everything) HelmUpgrade(context.Context, provider.HelmUpgradeRequest) (*provider.DeployResult, error) {
	return nil, e.do("HelmUpgrade")
}
func (e everything) HelmUninstall(context.Context, id.ID) error { return e.do("HelmUninstall") }
func (e everything) HelmStatus(context.Context, id.ID) (*provider.InstanceStatus, error) {
	return nil, e.do("HelmStatus")
}
func (e everything) ApplyManifests(context.Context, provider.ManifestApplyRequest) (*provider.ProvisionResult, error) {
	return nil, e.do("ApplyManifests")
}
func (e everything) DeleteManifests(context.Context, id.ID) error { return e.do("DeleteManifests") }
func (e everything) ManifestStatus(context.Context, id.ID) (*provider.InstanceStatus, error) {
	return nil, e.do("ManifestStatus")
}
func (e everything) ArgoApply(context.Context, provider.ArgoApplyRequest) (*provider.ProvisionResult, error) {
	return nil, e.do("ArgoApply")
}
func (e everything) ArgoDelete(context.Context, id.ID) error { return e.do("ArgoDelete") }
func (e everything) ArgoStatus(context.Context, id.ID) (*provider.InstanceStatus, error) {
	return nil, e.do("ArgoStatus")
}

// callAll calls every method once and returns the names in order.
func callAll(ctx context.Context, p provider.Provider, instance id.ID) []string {
	e := p.(interface {
		provider.Provider
		provider.HealthChecker
		provider.Stepper
		provider.Watcher
		provider.HelmEngine
		provider.ManifestEngine
		provider.ArgoEngine
		provider.VolumeKeeper
		provider.ImageInspector
	})
	_, _ = e.Provision(ctx, provider.ProvisionRequest{InstanceID: instance})
	_ = e.Deprovision(ctx, instance)
	_ = e.Start(ctx, instance)
	_ = e.Stop(ctx, instance)
	_ = e.Restart(ctx, instance)
	_, _ = e.Status(ctx, instance)
	_, _ = e.Deploy(ctx, provider.DeployRequest{InstanceID: instance})
	_ = e.Rollback(ctx, instance, id.Nil)
	_ = e.Scale(ctx, instance, provider.ResourceSpec{})
	_, _ = e.Resources(ctx, instance)
	_, _ = e.Logs(ctx, instance, provider.LogOptions{})
	_, _ = e.Exec(ctx, instance, provider.ExecRequest{})
	_, _ = e.HealthCheck(ctx)
	_, _ = e.Step(ctx, instance)
	_ = e.Watch(ctx, nil, nil)
	_, _ = e.HelmInstall(ctx, provider.HelmInstallRequest{InstanceID: instance})
	_, _ = e.HelmUpgrade(ctx, provider.HelmUpgradeRequest{InstanceID: instance})
	_ = e.HelmUninstall(ctx, instance)
	_, _ = e.HelmStatus(ctx, instance)
	_, _ = e.ApplyManifests(ctx, provider.ManifestApplyRequest{InstanceID: instance})
	_ = e.DeleteManifests(ctx, instance)
	_, _ = e.ManifestStatus(ctx, instance)
	_, _ = e.ArgoApply(ctx, provider.ArgoApplyRequest{InstanceID: instance})
	_ = e.ArgoDelete(ctx, instance)
	_, _ = e.ArgoStatus(ctx, instance)
	_, _ = e.KeptVolumes(ctx, "acme")
	_ = e.RemoveKeptVolume(ctx, "acme", "v")
	_, _ = e.KeptVolumeUsage(ctx, "acme", []string{"v"})
	_, _ = e.InspectImage(ctx, "web:1")
	return []string{
		"Provision", "Deprovision", "Start", "Stop", "Restart", "Status", "Deploy", "Rollback", "Scale", "Resources", "Logs", "Exec",
		"HealthCheck", "Step", "Watch", "HelmInstall", "HelmUpgrade", "HelmUninstall", "HelmStatus",
		"ApplyManifests", "DeleteManifests", "ManifestStatus", "ArgoApply", "ArgoDelete", "ArgoStatus",
		"KeptVolumes", "RemoveKeptVolume", "KeptVolumeUsage", "InspectImage",
	}
}

// has is the optional interfaces of p, told by assertions.
func has(p provider.Provider) (bits int) {
	for bit, ok := range map[int]bool{
		hasHealth: is[provider.HealthChecker](p), hasReadiness: is[provider.ReadinessWaiter](p), hasStep: is[provider.Stepper](p),
		hasWatch: is[provider.Watcher](p), hasHelm: is[provider.HelmEngine](p), hasManifests: is[provider.ManifestEngine](p), hasArgo: is[provider.ArgoEngine](p),
		hasKept: is[provider.VolumeKeeper](p) && is[provider.ImageInspector](p),
	} {
		if ok {
			bits |= bit
		}
	}
	return bits
}

func is[T any](p provider.Provider) bool { _, ok := p.(T); return ok }

func TestTypeAssertionsStayHonest(t *testing.T) {
	var calls []string
	base := everything{calls: &calls}
	for set := range 1 << 8 {
		inner := combine(&core{p: base}, set)
		if has(inner) != set {
			t.Fatalf("the provider for set %08b has %08b", set, has(inner))
		}
		wrapped := Wrap(inner, Options{})
		if has(wrapped) != set {
			t.Errorf("wrapping %08b gives %08b", set, has(wrapped))
		}
		if Unwrap(wrapped) != inner {
			t.Errorf("%08b does not unwrap", set)
		}
	}
	if Wrap(nil, Options{}) != nil {
		t.Error("nothing became a provider")
	}
	if p := provider.Provider(base); Unwrap(p) != p {
		t.Error("a provider that is not wrapped unwraps to another")
	}
}

// keeper has one of two interfaces that a wrapper has together.
type keeper struct{ provider.Provider }

func (keeper) InspectImage(context.Context, string) (*provider.ImageInfo, error) {
	return &provider.ImageInfo{Digest: "d"}, nil
}

func TestWhatOnlyTheWrapperHasIsNotSupported(t *testing.T) {
	var calls []string
	p := Wrap(keeper{Provider: combine(&core{p: everything{calls: &calls}}, 0)}, Options{})
	if info, err := p.(provider.ImageInspector).InspectImage(t.Context(), "web:1"); err != nil || info.Digest != "d" {
		t.Errorf("what it has: %v, %v", info, err)
	}
	k := p.(provider.VolumeKeeper)
	if _, err := k.KeptVolumes(t.Context(), ""); !errors.Is(err, provider.ErrNotSupported) {
		t.Errorf("what it has not: %v", err)
	}
	if err := k.RemoveKeptVolume(t.Context(), "acme", "v"); !errors.Is(err, provider.ErrNotSupported) {
		t.Errorf("what it has not: %v", err)
	}
	if _, err := k.KeptVolumeUsage(t.Context(), "acme", nil); !errors.Is(err, provider.ErrNotSupported) {
		t.Errorf("what it has not: %v", err)
	}
}

func TestCombinationsAreGenerated(t *testing.T) {
	before := map[string][]byte{}
	dir := t.TempDir()
	for _, name := range []string{"combine_plain.go", "combine_argo.go", "combine_kept.go", "combine_all.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before[name] = text
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	binary := dir + "/generate"
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, here+"/generate.go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range before {
		fresh, err := os.ReadFile(dir + "/" + name)
		if err != nil || !bytes.Equal(fresh, text) {
			t.Errorf("%s is not what generate.go writes (%v); run go generate", name, err)
		}
	}
}

type recorder struct{ lines []string }

func (r *recorder) Add(name string, n int64, labels ...provider.Label) {
	r.lines = append(r.lines, fmt.Sprint(name, " ", n, labels))
}

func (r *recorder) Observe(name string, took time.Duration, labels ...provider.Label) {
	r.lines = append(r.lines, fmt.Sprint(name, " ", took, labels))
}

func TestEveryCallIsMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		outcome string
		level   string
		status  codes.Code
	}{
		"a success":     {nil, provider.OutcomeOK, "DEBUG", codes.Unset},
		"an error":      {errors.New("engine is gone"), provider.OutcomeError, "WARN", codes.Error},
		"not found":     {fmt.Errorf("status: %w", provider.ErrNotFound), provider.OutcomeNotFound, "DEBUG", codes.Unset},
		"cancelled":     {context.Canceled, provider.OutcomeCanceled, "DEBUG", codes.Unset},
		"past deadline": {context.DeadlineExceeded, provider.OutcomeCanceled, "DEBUG", codes.Unset},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []string
				var metrics recorder
				var logged bytes.Buffer
				spans := tracetest.NewSpanRecorder()
				tracers := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
				p := Wrap(everything{&calls, c.err}, Options{
					Tracer: tracers.Tracer("test"), Metrics: &metrics, Logger: slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
				})
				instance := id.New(id.KindWorkload)
				want := callAll(t.Context(), p, instance)
				if !slices.Equal(calls, want) {
					t.Fatalf("calls %q", calls)
				}
				var lines []string
				for _, method := range want {
					labels := fmt.Sprintf("[{provider fake} {method %s} {outcome %s}]", method, c.outcome)
					lines = append(lines, MetricCalls+" 1"+" "+labels, MetricDuration+" 1s "+labels)
				}
				if got := metrics.lines; !slices.Equal(normalize(got), normalize(lines)) {
					t.Errorf("metrics %q\nwant %q", got, lines)
				}
				checkSpans(t, spans.Ended(), want, c.status)
				checkLog(t, logged.String(), want, c.level, c.outcome, instance)
				if strings.Contains(fmt.Sprint(metrics.lines), instance.String()) {
					t.Error("a metric names an instance")
				}
			})
		})
	}
}

// normalize takes out spaces, which fmt.Sprint puts where it likes.
func normalize(lines []string) []string {
	out := slices.Clone(lines)
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], " ", "")
	}
	return out
}

func checkSpans(t *testing.T, ended []trace.ReadOnlySpan, methods []string, status codes.Code) {
	t.Helper()
	if len(ended) != len(methods) {
		t.Fatalf("%d spans for %d calls", len(ended), len(methods))
	}
	for i, method := range methods {
		if ended[i].Name() != "provider."+method || ended[i].Status().Code != status {
			t.Errorf("span %s is %v", ended[i].Name(), ended[i].Status())
		}
		if took := ended[i].EndTime().Sub(ended[i].StartTime()); took != time.Second {
			t.Errorf("span %s took %s", method, took)
		}
	}
}

func checkLog(t *testing.T, text string, methods []string, level, outcome string, instance id.ID) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != len(methods) {
		t.Fatalf("%d log lines for %d calls", len(lines), len(methods))
	}
	for i, method := range methods {
		var line map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil {
			t.Fatal(err)
		}
		named := line["instance"] == instance.String()
		nobodys := slices.Contains([]string{"HealthCheck", "Watch", "KeptVolumes", "RemoveKeptVolume", "KeptVolumeUsage", "InspectImage"}, method)
		if line["level"] != level || line["method"] != method || line["outcome"] != outcome || line["provider"] != "fake" || named == nobodys {
			t.Errorf("log line %s", lines[i])
		}
	}
}

func TestWithoutOptionsCallsGoThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		p := Wrap(everything{calls: &calls}, Options{})
		want := callAll(t.Context(), p, id.New(id.KindWorkload))
		if !slices.Equal(calls, want) {
			t.Errorf("calls %q", calls)
		}
		res, err := p.Provision(t.Context(), provider.ProvisionRequest{})
		if err != nil || res.ProviderRef != "x" || p.Info().Name != "fake" || len(p.Capabilities()) != 1 {
			t.Errorf("results are lost: %v, %v", res, err)
		}
		if after, err := p.(provider.Stepper).Step(t.Context(), id.Nil); after != 7 || err != nil {
			t.Errorf("Step: %v, %v", after, err)
		}
		if policy := p.(provider.ReadinessWaiter).ReadinessPolicy(); policy.Timeout != 7 {
			t.Errorf("the policy is %v", policy)
		}
	})
}

func TestMeterCountsOnOpenTelemetry(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	m := NewMeter(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test"))
	label := provider.Label{Key: provider.LabelOutcome, Value: provider.OutcomeOK}
	m.Add(MetricCalls, 2, label)
	m.Add(MetricCalls, 3, label)
	m.Observe(MetricDuration, 1500*time.Millisecond, label)
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	want := attribute.NewSet(attribute.String("outcome", "ok"))
	seen := 0
	for _, metric := range got.ScopeMetrics[0].Metrics {
		switch data := metric.Data.(type) {
		case metricdata.Sum[int64]:
			seen++
			if p := data.DataPoints[0]; metric.Name != MetricCalls || p.Value != 5 || !p.Attributes.Equals(&want) {
				t.Errorf("counted %s %v", metric.Name, p)
			}
		case metricdata.Histogram[float64]:
			seen++
			if p := data.DataPoints[0]; metric.Name != MetricDuration || metric.Unit != "s" || p.Sum != 1.5 || !p.Attributes.Equals(&want) {
				t.Errorf("observed %s %v", metric.Name, p)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d metrics: %v", seen, got.ScopeMetrics)
	}
}
