package config

import (
	"fmt"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// Bounds of what a file may say.
const (
	minTimeout  = 100 * time.Millisecond
	maxTimeout  = 10 * time.Minute
	maxInterval = 24 * time.Hour
	maxConns    = 10_000
	maxCount    = 1_000_000
)

// fileFields are the keys of the file.
func fileFields() []field[[]*draft] {
	return []field[[]*draft]{{Name: "backends", Required: true, Read: readBackends}}
}

func readBackends(d *decoder, v value, all *[]*draft) {
	ok := d.Items(v, "- name: docker-1", func(i int, item value) {
		if i == maxBackends {
			d.Refuse(item, "there are too many backends", fmt.Sprintf("the most is %d", maxBackends))
		}
		if i >= maxBackends {
			return
		}
		b := &draft{path: item.Path}
		yamlfile.Section(d, item, backendFields(), b)
		*all = append(*all, b)
	})
	if ok && len(v.Content) == 0 {
		d.Refuse(v, "there is no backend", missing("backends"))
	}
}

// backendFields are the keys of one backend.
func backendFields() []field[draft] {
	return []field[draft]{
		{Name: "name", Required: true, Read: func(d *decoder, v value, b *draft) { b.Name = d.name(v) }},
		{Name: "url", Required: true, Read: func(d *decoder, v value, b *draft) { b.URL = d.url(v) }},
		{Name: "skus", Read: func(d *decoder, v value, b *draft) { b.SKUs = d.skus(v) }},
		{Name: "default", Read: func(d *decoder, v value, b *draft) { b.Default, _ = d.Boolean(v) }},
		{Name: "secret", Read: func(d *decoder, v value, b *draft) { b.secretText = d.secretText(v) }},
		{Name: "secret_file", Read: func(d *decoder, v value, b *draft) { b.secretFile = d.file(v) }},
		{Name: "unsigned", Read: func(d *decoder, v value, b *draft) { b.unsigned, _ = d.Boolean(v) }},
		{Name: "timeout", Read: func(d *decoder, v value, b *draft) { b.Timeout, _ = d.Duration(v, minTimeout, maxTimeout) }},
		{Name: "max_idle_conns", Read: func(d *decoder, v value, b *draft) { b.MaxIdleConns, _ = d.Integer(v, 1, maxConns) }},
		{Name: "max_idle_conns_per_host", Read: func(d *decoder, v value, b *draft) { b.MaxIdleConnsPerHost, _ = d.Integer(v, 1, maxConns) }},
		{Name: "page_limit", Read: func(d *decoder, v value, b *draft) { b.PageLimit, _ = d.Integer(v, 1, backend.MaxPageLimit) }},
		{Name: "circuit_breaker", Read: func(d *decoder, v value, b *draft) {
			yamlfile.Section(d, v, breakerFields(), &b.CircuitBreaker)
		}},
		{Name: "tls", Read: func(d *decoder, v value, b *draft) {
			b.said = &tlsDraft{}
			yamlfile.Section(d, v, tlsFields(), b.said)
		}},
	}
}

// breakerFields are the keys of circuit_breaker.
func breakerFields() []field[CircuitBreaker] {
	return []field[CircuitBreaker]{
		{Name: "failure_threshold", Read: func(d *decoder, v value, c *CircuitBreaker) { c.FailureThreshold = d.count(v) }},
		{Name: "timeout", Read: func(d *decoder, v value, c *CircuitBreaker) { c.Timeout, _ = d.Duration(v, minTimeout, maxInterval) }},
		{Name: "interval", Read: func(d *decoder, v value, c *CircuitBreaker) { c.Interval, _ = d.Duration(v, 0, maxInterval) }},
		{Name: "max_requests", Read: func(d *decoder, v value, c *CircuitBreaker) { c.MaxRequests = d.count(v) }},
	}
}
