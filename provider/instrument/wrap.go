package instrument

//go:generate go run generate.go

import (
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/berth-cloud/berth/provider"
)

// Options say where measurements go. What is nil gets none.
type Options struct {
	// Tracer makes a span for every call, named "provider." and the method.
	Tracer trace.Tracer

	// Metrics counts calls and how long they took.
	Metrics provider.Metrics

	// Logger gets every call: at level debug, and at level warn when it failed
	// otherwise than by not finding the instance or by its context.
	Logger *slog.Logger
}

// What is measured, each with the labels provider, method and outcome.
const (
	MetricCalls    = "provider.calls"
	MetricDuration = "provider.call.duration"
)

// Wrap is p, measured. It implements those of HealthChecker, ReadinessWaiter,
// HelmEngine, ManifestEngine, ArgoEngine, Stepper and Watcher that p implements,
// and no others; and VolumeKeeper and ImageInspector together where p implements
// one of them, of which the other is ErrNotSupported. A nil p stays nil.
func Wrap(p provider.Provider, opts Options) provider.Provider {
	if p == nil {
		return nil
	}
	c := &core{p: p, typeName: provider.TypeName(p), opts: opts}
	var has int
	if _, ok := p.(provider.HealthChecker); ok {
		has |= hasHealth
	}
	if _, ok := p.(provider.ReadinessWaiter); ok {
		has |= hasReadiness
	}
	if _, ok := p.(provider.Stepper); ok {
		has |= hasStep
	}
	if _, ok := p.(provider.Watcher); ok {
		has |= hasWatch
	}
	if _, ok := p.(provider.HelmEngine); ok {
		has |= hasHelm
	}
	if _, ok := p.(provider.ManifestEngine); ok {
		has |= hasManifests
	}
	if _, ok := p.(provider.ArgoEngine); ok {
		has |= hasArgo
	}
	_, keeps := p.(provider.VolumeKeeper)
	_, inspects := p.(provider.ImageInspector)
	if keeps || inspects {
		has |= hasKept
	}
	return combine(c, has)
}

// The optional interfaces, one bit each. generate.go knows their order.
const (
	hasHealth = 1 << iota
	hasReadiness
	hasStep
	hasWatch
	hasHelm
	hasManifests
	hasArgo
	hasKept // VolumeKeeper and ImageInspector: one bit, since each doubles the types
)

// combine chooses the type with exactly the interfaces of has.
func combine(c *core, has int) provider.Provider {
	switch has & (hasArgo | hasKept) {
	case hasArgo:
		return combineArgo(c, has)
	case hasKept:
		return combineKept(c, has)
	case hasArgo | hasKept:
		return combineAll(c, has)
	}
	return combinePlain(c, has)
}

// Unwrap is the provider under a wrapper of this package, and p itself when it is
// none.
func Unwrap(p provider.Provider) provider.Provider {
	if w, ok := p.(interface{ unwrap() provider.Provider }); ok {
		return w.unwrap()
	}
	return p
}
