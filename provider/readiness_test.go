package provider_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/berth-cloud/berth/provider"
)

var (
	starting = &provider.InstanceStatus{State: provider.StateStarting}
	ready    = &provider.InstanceStatus{State: provider.StateRunning, Ready: true}
	failed   = &provider.InstanceStatus{State: provider.StateFailed, Reason: provider.ReasonInitFailed, Message: "migrate ended with 3"}
)

// answer is one read of the status.
type answer struct {
	status *provider.InstanceStatus
	err    error
}

// script answers in turn, and then again and again with the last.
func script(reads *int, answers ...answer) provider.StatusFunc {
	return func(context.Context) (*provider.InstanceStatus, error) {
		a := answers[min(*reads, len(answers)-1)]
		*reads++
		return a.status, a.err
	}
}

func TestWaitReady(t *testing.T) {
	policy := provider.ReadinessPolicy{Timeout: time.Minute, Interval: 10 * time.Second}
	notThere := errors.New("no such instance yet")
	for name, c := range map[string]struct {
		policy  provider.ReadinessPolicy
		answers []answer
		status  *provider.InstanceStatus
		is      error
		says    string
		reads   int
		took    time.Duration
		outcome string
	}{
		"ready at once":         {policy, []answer{{ready, nil}}, ready, nil, "", 1, 0, provider.ReadinessReady},
		"ready later":           {policy, []answer{{starting, nil}, {starting, nil}, {ready, nil}}, ready, nil, "", 3, 20 * time.Second, provider.ReadinessReady},
		"failed":                {policy, []answer{{starting, nil}, {failed, nil}}, failed, provider.ErrNotReady, "InitFailed): migrate ended with 3", 2, 10 * time.Second, provider.ReadinessFailed},
		"never":                 {policy, []answer{{starting, nil}}, starting, provider.ErrNotReady, "within 1m0s: last seen starting", 6, time.Minute, provider.ReadinessTimeout},
		"not found for a while": {policy, []answer{{nil, notThere}, {ready, nil}}, ready, nil, "", 2, 10 * time.Second, provider.ReadinessReady},
		"never found":           {policy, []answer{{nil, notThere}}, nil, notThere, "no status was read; the last read failed: no such instance yet", 6, time.Minute, provider.ReadinessTimeout},
		"lost on the way":       {policy, []answer{{starting, nil}, {nil, notThere}}, starting, provider.ErrNotReady, "last seen starting; the last read failed", 6, time.Minute, provider.ReadinessTimeout},
		"found again":           {policy, []answer{{nil, notThere}, {starting, nil}}, starting, provider.ErrNotReady, "last seen starting", 6, time.Minute, provider.ReadinessTimeout},
		"no status, no error":   {policy, []answer{{nil, nil}}, nil, provider.ErrNotReady, "returned no status", 6, time.Minute, provider.ReadinessTimeout},
		"defaults": {
			provider.ReadinessPolicy{}, []answer{{starting, nil}}, starting, provider.ErrNotReady, "within 5m0s",
			int(provider.DefaultReadinessTimeout / provider.DefaultReadinessInterval), provider.DefaultReadinessTimeout, provider.ReadinessTimeout,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, reads := time.Now(), 0
				st, err := provider.WaitReady(t.Context(), c.policy, script(&reads, c.answers...))
				if st != c.status || !errors.Is(err, c.is) || (c.is == nil) != (err == nil) {
					t.Fatalf("WaitReady: %v, %v, want %v, %v", st, err, c.status, c.is)
				}
				if err != nil && (!strings.Contains(err.Error(), c.says) || !errors.Is(err, provider.ErrNotReady)) {
					t.Errorf("the error says %q, want %q in it", err, c.says)
				}
				// At the very end a last read may or may not come before the end.
				if took := time.Since(began); took != c.took || reads < c.reads || reads > c.reads+1 {
					t.Errorf("it took %s and %d reads, want %s and %d", took, reads, c.took, c.reads)
				}
				if got := provider.ReadinessOutcome(st, err); got != c.outcome {
					t.Errorf("the outcome is %s, want %s", got, c.outcome)
				}
			})
		})
	}
}

func TestACancelledWaitIsNotATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(7*time.Second, cancel)
		began, reads := time.Now(), 0
		st, err := provider.WaitReady(ctx, provider.ReadinessPolicy{}, script(&reads, answer{starting, nil}))
		if !errors.Is(err, context.Canceled) || errors.Is(err, provider.ErrNotReady) || st != starting {
			t.Errorf("WaitReady: %v, %v", st, err)
		}
		if took := time.Since(began); took != 7*time.Second || reads != 2 {
			t.Errorf("it took %s and %d reads", took, reads)
		}
		if got := provider.ReadinessOutcome(st, err); got != provider.ReadinessCanceled {
			t.Errorf("the outcome is %s", got)
		}
	})
}

func TestTheCallersDeadlineIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		reads := 0
		st, err := provider.WaitReady(ctx, provider.ReadinessPolicy{}, script(&reads, answer{starting, nil}))
		if !errors.Is(err, provider.ErrNotReady) || !strings.Contains(err.Error(), "before the caller's deadline") {
			t.Errorf("WaitReady: %v", err)
		}
		if got := provider.ReadinessOutcome(st, err); got != provider.ReadinessTimeout {
			t.Errorf("the outcome is %s", got)
		}
	})
}

func TestAReadThatHangsEndsWithTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := provider.WaitReady(t.Context(), provider.ReadinessPolicy{Timeout: time.Minute}, func(ctx context.Context) (*provider.InstanceStatus, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if took := time.Since(began); !errors.Is(err, provider.ErrNotReady) || took != time.Minute {
			t.Errorf("WaitReady: %v after %s", err, took)
		}
		if got := provider.ReadinessOutcome(nil, err); got != provider.ReadinessTimeout {
			t.Errorf("the outcome is %s", got)
		}
	})
}

func TestAWaitIsASpanOfATrace(t *testing.T) {
	for name, c := range map[string]struct {
		answers []answer
		outcome string
		polls   int64
	}{
		"ready":  {[]answer{{starting, nil}, {ready, nil}}, provider.ReadinessReady, 2},
		"failed": {[]answer{{failed, nil}}, provider.ReadinessFailed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spans := tracetest.NewSpanRecorder()
				tracers := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
				ctx, parent := tracers.Tracer("test").Start(t.Context(), "parent")
				reads := 0
				_, _ = provider.WaitReady(ctx, provider.ReadinessPolicy{}, script(&reads, c.answers...))
				parent.End()
				ended := spans.Ended()
				if len(ended) != 2 || ended[0].Name() != "wait for instance readiness" || ended[0].Parent().SpanID() != parent.SpanContext().SpanID() {
					t.Fatalf("spans: %v", ended)
				}
				want := []attribute.KeyValue{attribute.Int64("berth.readiness.polls", c.polls), attribute.String("berth.readiness.outcome", c.outcome)}
				if got := attribute.NewSet(ended[0].Attributes()...); !got.Equals(new(attribute.NewSet(want...))) {
					t.Errorf("attributes %v, want %v", ended[0].Attributes(), want)
				}
			})
		})
	}
}
