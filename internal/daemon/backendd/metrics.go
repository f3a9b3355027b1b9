package backendd

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/internal/daemon/backendd/routes"
)

// metrics are what /metrics tells.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	outbox   outbox.Metrics
	repairs  prometheus.Counter
}

func newMetrics(r *prometheus.Registry) *metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	m := &metrics{
		registry: r,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_backend_requests_total", Help: "Requests that were answered.",
		}, []string{"operation", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "berth_backend_request_duration_seconds", Help: "How long a request took.",
		}, []string{"operation"}),
	}
	waiting := prometheus.NewGauge(prometheus.GaugeOpts{Name: "berth_backend_callbacks_pending", Help: "Callbacks that wait to be acknowledged."})
	m.outbox = outbox.Metrics{
		Pending:  waiting,
		Sent:     counter("berth_backend_callbacks_sent_total", "Callbacks that were acknowledged."),
		Failed:   counter("berth_backend_callback_attempts_failed_total", "Attempts to send a callback that came to nothing."),
		GivenUp:  counter("berth_backend_callbacks_given_up_total", "Callbacks that nobody acknowledged in time."),
		NoTarget: counter("berth_backend_callbacks_without_target_total", "Callbacks of leases that have no URL for them."),
	}
	m.repairs = counter("berth_backend_firewall_repairs_total", "Times that the firewall of leases was found changed and put right.")
	r.MustRegister(m.requests, m.duration, waiting, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// watchRoutes tells how it stands with the data plane, as of each look.
func (m *metrics) watchRoutes(p *routes.Pusher) {
	gauge := func(name, help string, of func(routes.State) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return of(p.State()) }))
	}
	gauge("berth_backend_ingress_up", "Whether the data plane answers.", func(s routes.State) float64 {
		if s.Reached {
			return 1
		}
		return 0
	})
	gauge("berth_backend_hosts", "Hosts that the data plane routes to leases.", func(s routes.State) float64 { return float64(s.Hosts) })
	gauge("berth_backend_hosts_refused", "Hosts that another owner of the data plane's routes has.", func(s routes.State) float64 { return float64(s.Refused) })
}

// watchPool tells what is allocated, as of each look.
func (m *metrics) watchPool(p *pool.Pool) {
	gauge := func(name, help string, of func(pool.Stats) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return of(p.Stats()) }))
	}
	gauge("berth_backend_cpu_cores_total", "Cores that leases may hold.", func(s pool.Stats) float64 { return sku.Cores(s.Total.MilliCPU) })
	gauge("berth_backend_cpu_cores_allocated", "Cores that leases hold.", func(s pool.Stats) float64 { return sku.Cores(s.Allocated.MilliCPU) })
	gauge("berth_backend_memory_mb_total", "Memory that leases may hold.", func(s pool.Stats) float64 { return float64(s.Total.MemoryMB) })
	gauge("berth_backend_memory_mb_allocated", "Memory that leases hold.", func(s pool.Stats) float64 { return float64(s.Allocated.MemoryMB) })
	gauge("berth_backend_disk_mb_total", "Disk that leases may hold.", func(s pool.Stats) float64 { return float64(s.Total.DiskMB) })
	gauge("berth_backend_disk_mb_allocated", "Disk that leases hold, or left.", func(s pool.Stats) float64 { return float64(s.Allocated.DiskMB) })
	gauge("berth_backend_disk_mb_retained", "Disk that leases left.", func(s pool.Stats) float64 { return float64(s.RetainedDiskMB) })
	gauge("berth_backend_instances", "Containers that leases hold.", func(s pool.Stats) float64 { return float64(s.ActiveContainers) })
}
