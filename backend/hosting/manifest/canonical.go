package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// The canonical document has the stack form, images with nothing left out, durations
// in nanoseconds, lists that have no order sorted, and no field that says what its
// absence says. The names of members are sorted by the encoder for maps, and stand
// as below for the rest.
type (
	canonicalStack struct {
		Services map[string]canonicalService `json:"services"`
	}
	canonicalService struct {
		Image       string                         `json:"image"`
		Ports       map[string]canonicalPort       `json:"ports,omitempty"`
		Expose      []string                       `json:"expose,omitempty"`
		Env         map[string]string              `json:"env,omitempty"`
		Labels      map[string]string              `json:"labels,omitempty"`
		Command     []string                       `json:"command,omitempty"`
		Args        []string                       `json:"args,omitempty"`
		HealthCheck *canonicalHealthCheck          `json:"health_check,omitempty"`
		Tmpfs       []string                       `json:"tmpfs,omitempty"`
		User        string                         `json:"user,omitempty"`
		DependsOn   map[string]canonicalDependency `json:"depends_on,omitempty"`
		StopGrace   time.Duration                  `json:"stop_grace_period,omitempty"`
		Init        bool                           `json:"init,omitempty"`
	}
	canonicalPort struct {
		Ingress bool `json:"ingress,omitempty"`
	}
	canonicalHealthCheck struct {
		Test        []string      `json:"test"`
		Interval    time.Duration `json:"interval,omitempty"`
		Timeout     time.Duration `json:"timeout,omitempty"`
		Retries     int           `json:"retries,omitempty"`
		StartPeriod time.Duration `json:"start_period,omitempty"`
	}
	canonicalDependency struct {
		Condition Condition `json:"condition"`
	}
)

// Canonical is the stack as a document that Parse reads as the same stack. It has the
// same bytes for all documents that mean the same. It is an error only for a stack
// that Parse did not make.
func (s *Stack) Canonical() ([]byte, error) {
	out := canonicalStack{Services: map[string]canonicalService{}}
	for name, service := range s.Services {
		out.Services[name] = service.canonical()
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // it would make them longer
	if err := encoder.Encode(out); err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// canonicalVersion is part of the hash, and changes when the form does.
const canonicalVersion = "berth manifest 1\n"

// Hash is the lower-case hex of a SHA-256 over the canonical form: two documents with
// one hash mean the same. It is not the payload_hash of a request, which is over the
// bytes that were sent. It has the errors of Canonical.
func (s *Stack) Hash() (string, error) {
	document, err := s.Canonical()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(canonicalVersion), document...))
	return hex.EncodeToString(sum[:]), nil
}

func (s *Service) canonical() canonicalService {
	c := canonicalService{
		Image: s.Image, Env: s.Env, Labels: s.Labels, Command: s.Command, Args: s.Args,
		Tmpfs: s.Tmpfs, User: s.User, Init: s.Init,
		Ports: map[string]canonicalPort{}, DependsOn: map[string]canonicalDependency{},
	}
	for _, p := range s.Ports {
		c.Ports[p.String()] = canonicalPort{Ingress: p.Ingress}
	}
	for _, p := range s.Expose {
		c.Expose = append(c.Expose, p.String())
	}
	for _, d := range s.DependsOn {
		c.DependsOn[d.Service] = canonicalDependency{Condition: d.Condition}
	}
	if s.StopGrace != DefaultStopGrace {
		c.StopGrace = s.StopGrace
	}
	if h := s.HealthCheck; h != nil {
		c.HealthCheck = &canonicalHealthCheck{
			Test:     append([]string{string(h.Kind)}, h.Args...),
			Interval: h.Interval, Retries: h.Retries, StartPeriod: h.StartPeriod,
		}
		if h.Timeout != DefaultHealthTimeout {
			c.HealthCheck.Timeout = h.Timeout
		}
	}
	return c
}
