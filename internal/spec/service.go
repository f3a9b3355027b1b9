package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// MaxReplicas bounds the replicas of a service.
const MaxReplicas = 50

// Bounds of what a service may ask for.
const (
	maxPort         = 65535
	maxDomains      = 100
	maxCommandItems = 1000
	// maxArgBytes is the kernel's bound on one argument or one NAME=value,
	// with the NUL that ends it.
	maxArgBytes = 128<<10 - 1

	maxReadyTimeout = time.Hour
	maxStableWindow = time.Hour
	maxDrainTimeout = time.Hour
	maxStopGrace    = time.Hour
	maxHoldTimeout  = 5 * time.Minute
	maxKeepPrevious = 24 * time.Hour
)

// serviceDraft is a service while it is read.
type serviceDraft struct {
	Service
	main            memberDraft // what the service's own keys say about its container
	inits, sidecars []*memberDraft
	members         int // containers that the file names, whether they were read or not
	path            string
	strategyNamed   bool
	restartRefused  bool
}

// serviceFields are the keys of a service.
func serviceFields() []field[serviceDraft] {
	main := func(s *serviceDraft) *memberDraft { return &s.main }
	return slices.Concat(programFields(main), portField(main), []field[serviceDraft]{
		{Name: "domains", Read: readDomains},
		{Name: "path", Read: readPrefix},
		{Name: "replicas", Read: readReplicas},
		{Name: "strategy", Read: readStrategy},
		amountField("max_surge", func(s *serviceDraft) *Amount { return &s.MaxSurge }),
		amountField("max_unavailable", func(s *serviceDraft) *Amount { return &s.MaxUnavailable }),
		{Name: "restart", Read: readRestart},
		durationField("completion_timeout", minCompletionTimeout, maxCompletionTimeout,
			func(s *serviceDraft) *time.Duration { return &s.CompletionTimeout }),
		{Name: "depends_on", Read: readDependsOn},
		durationField("depends_timeout", minDependsTimeout, maxDependsTimeout,
			func(s *serviceDraft) *time.Duration { return &s.DependsTimeout }),
		{Name: "health", Read: func(d *decoder, v value, s *serviceDraft) { yamlfile.Section(d, v, healthFields(), s) }},
		durationField("stable_window", 0, maxStableWindow, func(s *serviceDraft) *time.Duration { return &s.StableWindow }),
		durationField("drain_timeout", 0, maxDrainTimeout, func(s *serviceDraft) *time.Duration { return &s.DrainTimeout }),
		durationField("stop_grace", 0, maxStopGrace, func(s *serviceDraft) *time.Duration { return &s.StopGrace }),
		durationField("hold_timeout", 0, maxHoldTimeout, func(s *serviceDraft) *time.Duration { return &s.HoldTimeout }),
		durationField("keep_previous", 0, maxKeepPrevious, func(s *serviceDraft) *time.Duration { return &s.KeepPrevious }),
	}, storageFields(main), publishField(main), []field[serviceDraft]{
		{Name: "labels", Read: readLabels},
	}, processFields(main), []field[serviceDraft]{
		membersField("inits", initFields, func(s *serviceDraft) *[]*memberDraft { return &s.inits }),
		membersField("sidecars", sidecarFields, func(s *serviceDraft) *[]*memberDraft { return &s.sidecars }),
		{Name: "after", Read: func(d *decoder, v value, s *serviceDraft) {
			s.SidecarsFirst = d.names(v, maxMembers, "[proxy]")
		}},
	})
}

// durationField is a key whose value is a time within bounds.
func durationField[T any](name string, low, high time.Duration, of func(*T) *time.Duration) field[T] {
	return field[T]{Name: name, Read: func(d *decoder, v value, into *T) {
		if t, ok := d.Duration(v, low, high); ok {
			*of(into) = t
		}
	}}
}

// newService is a service that says nothing: every default.
func newService(name string) Service {
	return Service{
		Name:         name,
		Replicas:     1,
		ReadyTimeout: DefaultReadyTimeout,
		DrainTimeout: DefaultDrainTimeout,
		StopGrace:    DefaultStopGrace,
		HoldTimeout:  DefaultHoldTimeout,
	}
}

// service reads one service.
func (d *decoder) service(name string, v value) *serviceDraft {
	s := &serviceDraft{Service: newService(name), path: v.Path, members: 1}
	s.main.Name, s.main.path = name, v.Path
	yamlfile.Section(d, v, serviceFields(), s)
	s.complete()
	return s
}

// asList shows how a command line is written as a list.
func asList(line, example string) string {
	words := strings.Fields(line)
	if len(words) == 0 || len(words) > 8 || strings.ContainsAny(line, "\"'`$\\|&;<>()") {
		return example
	}
	for i, word := range words {
		words[i] = yamlfile.Quote(word)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func readDomains(d *decoder, v value, s *serviceDraft) {
	if len(v.Content) > maxDomains {
		d.Refuse(v, fmt.Sprintf("there are %d domains", len(v.Content)), fmt.Sprintf("the most is %d a service", maxDomains))
		return
	}
	d.Items(v, "[shop.example.com]", func(i int, item value) {
		text, ok := d.Text(item)
		if !ok {
			return
		}
		host, err := NormalizeDomain(text)
		switch {
		case err != nil:
			d.RefuseErr(item, err)
		case slices.Contains(s.Domains, host):
			d.Refuse(item, host+" is listed twice", "remove one")
		default:
			s.Domains = append(s.Domains, host)
			// Domains are sorted later; rules find where one is written by its name.
			d.At[domainPath(s.path, host)] = item.Position()
		}
	})
	slices.Sort(s.Domains)
}

// domainPath is a path at which no key can be: it leads to a domain by name.
func domainPath(service, host string) string { return service + ".domains[" + host }

func readPrefix(d *decoder, v value, s *serviceDraft) {
	text, ok := d.Str(v)
	if !ok {
		return
	}
	prefix, err := NormalizePrefix(text)
	if err != nil {
		d.RefuseErr(v, err)
		return
	}
	s.Path = prefix
}

func readReplicas(d *decoder, v value, s *serviceDraft) {
	if v.Kind == yaml.ScalarNode && v.Value == "0" && v.Tag == "!!int" {
		d.Refuse(v, "a service cannot be at rest yet", "remove it from the file to end it; its volumes are kept")
		return
	}
	if n, ok := d.Integer(v, 1, MaxReplicas); ok {
		s.Replicas = n
	}
}
