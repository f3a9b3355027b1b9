package workfile

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
	"github.com/berth-cloud/berth/provider"
)

// maxTime bounds every time in a file.
const maxTime = 24 * time.Hour

// fileFields are the keys of the file.
func fileFields() []field[draft] {
	return []field[draft]{
		{Name: "name", Required: true, Read: func(d *decoder, v value, w *draft) { w.Request.Name, _ = d.Text(v) }},
		{Name: "provider", Read: func(d *decoder, v value, w *draft) { w.Provider, _ = d.Str(v) }},
		{Name: "kind", Read: func(d *decoder, v value, w *draft) {
			w.Request.Kind = oneOf(d, v, provider.KindDeployment, provider.KindStatefulSet)
		}},
		{Name: "network", Read: func(d *decoder, v value, w *draft) { w.Request.Network, _ = d.Text(v) }},
		{Name: "labels", Read: func(d *decoder, v value, w *draft) { w.Request.Labels = d.texts(v) }},
		{Name: "rollout", Read: func(d *decoder, v value, w *draft) {
			w.Request.Rollout = &provider.RolloutSpec{}
			yamlfile.Section(d, v, rolloutFields(), w)
		}},
		{Name: "services", Required: true, Read: readServices},
	}
}

// rolloutFields are the keys of rollout.
func rolloutFields() []field[draft] {
	return []field[draft]{
		{Name: "strategy", Read: func(d *decoder, v value, w *draft) {
			w.Strategy = oneOf(d, v, provider.StrategyBlueGreen, provider.StrategyRolling, provider.StrategyRecreate, provider.StrategyCanary)
		}},
		{Name: "max_surge", Read: func(d *decoder, v value, w *draft) { w.Request.Rollout.MaxSurge = d.amount(v) }},
		{Name: "max_unavailable", Read: func(d *decoder, v value, w *draft) { w.Request.Rollout.MaxUnavailable = d.amount(v) }},
		durationField("ready_timeout", func(w *draft) *time.Duration { return &w.Request.Rollout.ReadyTimeout }),
		durationField("stable_window", func(w *draft) *time.Duration { return &w.Request.Rollout.StableWindow }),
	}
}

func (d *decoder) amount(v value) provider.IntOrPercent {
	text, _ := d.Text(v)
	return provider.IntOrPercent(text)
}

func readServices(d *decoder, v value, w *draft) {
	d.Pairs(v, func(key *yaml.Node, val value) {
		if yamlfile.IsNull(val.Node) {
			d.Refuse(val, "the service is empty", "write at least its image")
			return
		}
		s := &serviceDraft{path: val.Path}
		s.Name = key.Value
		yamlfile.Section(d, val, serviceFields(), s)
		w.services = append(w.services, s)
	})
	if v.Kind == yaml.MappingNode && len(v.Content) == 0 {
		d.Refuse(v, "there are no services", missing("services"))
	}
}
