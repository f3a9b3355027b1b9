package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

func readStrategy(d *decoder, v value, s *serviceDraft) {
	name, ok := d.Str(v)
	if !ok {
		return
	}
	switch Strategy(name) {
	case BlueGreen, Rolling, Recreate:
		s.Strategy, s.strategyNamed = Strategy(name), true
	case "canary":
		d.Refuse(v, "the strategy canary is not available yet", "write blue-green, rolling or recreate")
	default:
		do := "write blue-green, rolling or recreate"
		if near := yamlfile.Nearest(name, []string{"blue_green", "rolling", "recreate"}); near != "" {
			do = "did you mean " + strings.ReplaceAll(near, "_", "-") + "?"
		}
		d.Refuse(v, yamlfile.Quote(name)+" is not a strategy", do)
	}
}

// amountField is a key whose value is a number of replicas, or a share of them.
func amountField(name string, of func(*serviceDraft) *Amount) field[serviceDraft] {
	return field[serviceDraft]{Name: name, Read: func(d *decoder, v value, s *serviceDraft) {
		text, ok := d.Text(v)
		if !ok {
			return
		}
		amount := Amount(text)
		n, percent, err := amount.Parse()
		switch {
		case err != nil:
			d.Refuse(v, yamlfile.Quote(text)+" is neither a count nor a share", "write a count such as 1, or a share such as 25%")
		case v.Tag == "!!str" && !percent:
			d.Refuse(v, yamlfile.Quote(text)+" is a text", "remove the quotes")
		case percent && n > 100, !percent && n > MaxReplicas:
			d.Refuse(v, yamlfile.QuoteBare(text)+" is out of range", fmt.Sprintf("write a count from 0 to %d, or a share from 0%% to 100%%", MaxReplicas))
		default:
			*of(s) = amount
		}
	}}
}

// strategyRules resolves the strategy. Two releases of an exclusive service
// never run at once, so it takes recreate and one replica.
func (d *decoder) strategyRules(s *serviceDraft) {
	if s.Completes() {
		return // has none
	}
	why := s.exclusiveBecause()
	if why != "" && s.strategyNamed && s.Strategy != Recreate {
		d.RefuseAt(s.path+".strategy", string(s.Strategy)+" runs two releases at once, and "+why,
			"write recreate"+sharedAdvice(&s.Service))
	}
	if why != "" && s.Replicas > 1 {
		d.RefuseAt(s.path+".replicas", fmt.Sprintf("%d replicas run at once, and %s", s.Replicas, why),
			"write 1"+sharedAdvice(&s.Service))
	}
	switch {
	case s.Strategy != "":
	case why != "":
		s.Strategy = Recreate
	default:
		s.Strategy = BlueGreen
	}
	d.rollingRules(s)
	if s.KeepPrevious == 0 || s.Strategy == BlueGreen {
		return
	}
	because := "the strategy is " + string(s.Strategy)
	if !s.strategyNamed {
		because = why
	}
	d.RefuseAt(s.path+".keep_previous", "no previous release can be kept running: "+because, "leave it out")
}

// rollingRules: bounds are those of a rolling change, and let it go on.
func (d *decoder) rollingRules(s *serviceDraft) {
	if s.Strategy != Rolling {
		for _, key := range []string{"max_surge", "max_unavailable"} {
			if s.main.written(d, key) && (s.strategyNamed || !s.main.written(d, "strategy")) {
				d.RefuseAt(s.path+"."+key, "the strategy "+string(s.Strategy)+" has no such bound", "write strategy: rolling, or leave it out")
			}
		}
		return
	}
	if s.MaxSurge == "" {
		s.MaxSurge = "1"
	}
	if s.MaxUnavailable == "" {
		s.MaxUnavailable = "0"
	}
	surge, _, _ := s.MaxSurge.Parse()
	unavailable, _, _ := s.MaxUnavailable.Parse()
	if surge == 0 && unavailable == 0 {
		at := ".max_surge"
		if !s.main.written(d, "max_surge") {
			at = ".max_unavailable"
		}
		d.RefuseAt(s.path+at, "no replica may be added and none may be missing, so nothing could change", "write 1 for max_surge or max_unavailable")
	}
}

// sharedAdvice offers the way out that a volume has and a port has not.
func sharedAdvice(s *Service) string {
	if slices.ContainsFunc(s.Members(), func(m Member) bool { return len(m.Publish) > 0 }) {
		return ""
	}
	return ", or shared: true at the volume if the program bears several writers"
}
