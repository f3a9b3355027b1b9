package instrument

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// call measures one call of a method that returns a value. The instance is in
// span and log alone.
func call[T any](ctx context.Context, c *core, method string, instanceID id.ID, do func(context.Context) (T, error)) (T, error) {
	ctx, done := c.begin(ctx, method, instanceID)
	out, err := do(ctx)
	done(err)
	return out, err
}

// run measures one call of a method that returns an error alone.
func run(ctx context.Context, c *core, method string, instanceID id.ID, do func(context.Context) error) error {
	ctx, done := c.begin(ctx, method, instanceID)
	err := do(ctx)
	done(err)
	return err
}

// begin starts the measurement of a call, which the function that it returns
// ends.
func (c *core) begin(ctx context.Context, method string, instanceID id.ID) (context.Context, func(error)) {
	var span trace.Span
	if c.opts.Tracer != nil {
		attrs := []attribute.KeyValue{attribute.String("berth.provider", c.typeName), attribute.String("berth.method", method)}
		if !instanceID.IsNil() {
			attrs = append(attrs, attribute.String("berth.instance", instanceID.String()))
		}
		ctx, span = c.opts.Tracer.Start(ctx, "provider."+method, trace.WithAttributes(attrs...))
	}
	began := time.Now()
	return ctx, func(err error) {
		took, outcome := time.Since(began), provider.Outcome(err)
		if m := c.opts.Metrics; m != nil {
			labels := []provider.Label{
				{Key: provider.LabelProvider, Value: c.typeName}, {Key: provider.LabelMethod, Value: method}, {Key: provider.LabelOutcome, Value: outcome},
			}
			m.Add(MetricCalls, 1, labels...)
			m.Observe(MetricDuration, took, labels...)
		}
		if span != nil {
			span.SetAttributes(attribute.String("berth.outcome", outcome))
			if outcome == provider.OutcomeError {
				span.RecordError(err)
				span.SetStatus(codes.Error, outcome)
			}
			span.End()
		}
		c.log(ctx, method, instanceID, took, outcome, err)
	}
}

func (c *core) log(ctx context.Context, method string, instanceID id.ID, took time.Duration, outcome string, err error) {
	if c.opts.Logger == nil {
		return
	}
	level := slog.LevelDebug
	attrs := []slog.Attr{
		slog.String("provider", c.typeName), slog.String("method", method), slog.String("outcome", outcome), slog.Duration("took", took),
	}
	if !instanceID.IsNil() {
		attrs = append(attrs, slog.String("instance", instanceID.String()))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	if outcome == provider.OutcomeError {
		level = slog.LevelWarn
	}
	c.opts.Logger.LogAttrs(ctx, level, "provider call", attrs...)
}
