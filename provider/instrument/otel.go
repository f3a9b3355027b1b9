package instrument

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/berth-cloud/berth/provider"
)

// Meter is provider.Metrics on an OpenTelemetry meter: counters, and histograms
// in seconds.
type Meter struct {
	meter      metric.Meter
	mu         sync.Mutex
	counters   map[string]metric.Int64Counter
	histograms map[string]metric.Float64Histogram
}

var _ provider.Metrics = (*Meter)(nil)

// NewMeter makes one. Instruments are created when they are first used, of which
// there are as many as names of metrics.
func NewMeter(meter metric.Meter) *Meter {
	return &Meter{meter: meter, counters: map[string]metric.Int64Counter{}, histograms: map[string]metric.Float64Histogram{}}
}

// Add implements provider.Metrics. A name that OpenTelemetry refuses is not
// counted.
func (m *Meter) Add(name string, n int64, labels ...provider.Label) {
	m.mu.Lock()
	counter, known := m.counters[name]
	if !known {
		counter, _ = m.meter.Int64Counter(name)
		m.counters[name] = counter
	}
	m.mu.Unlock()
	if counter != nil {
		counter.Add(context.Background(), n, metric.WithAttributes(attributes(labels)...)) // no context is needed to count
	}
}

// Observe implements provider.Metrics.
func (m *Meter) Observe(name string, took time.Duration, labels ...provider.Label) {
	m.mu.Lock()
	histogram, known := m.histograms[name]
	if !known {
		histogram, _ = m.meter.Float64Histogram(name, metric.WithUnit("s"))
		m.histograms[name] = histogram
	}
	m.mu.Unlock()
	if histogram != nil {
		histogram.Record(context.Background(), took.Seconds(), metric.WithAttributes(attributes(labels)...))
	}
}

func attributes(labels []provider.Label) []attribute.KeyValue {
	out := make([]attribute.KeyValue, len(labels))
	for i, l := range labels {
		out[i] = attribute.String(l.Key, l.Value)
	}
	return out
}
