package config

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
	"github.com/berth-cloud/berth/secrets"
)

// ErrInvalid is what the error of a file with something wrong in it is.
var ErrInvalid = yamlfile.ErrInvalid

// Config is what a file says.
type Config struct {
	Backends []Backend // at least one, in the order of the file
}

// Backend is one backend of a file. Zero where the file says nothing; the client
// has its default for it.
type Backend struct {
	Name    string
	URL     string // http or https, without a slash at its end
	SKUs    []string
	Default bool // at most one has it

	Secret  secrets.Secret // empty only where the file says unsigned
	Timeout time.Duration

	MaxIdleConns        int
	MaxIdleConnsPerHost int
	PageLimit           int // leases of a page
	CircuitBreaker      CircuitBreaker

	// Behind a pointer that no encoder follows: it has the client's private key.
	tls *tls.Config
}

// CircuitBreaker is when a backend is not asked for a while.
type CircuitBreaker struct {
	FailureThreshold uint32        // failures in a row that open it
	Timeout          time.Duration // from open to half open
	Interval         time.Duration // after which a closed one forgets failures
	MaxRequests      uint32        // at once while half open
}

// Options is what a file is judged by beside itself.
type Options struct {
	File string // the name that messages give the file; "" is "backends.yaml"
	Dir  string // where names of files begin; "" is the working directory
}

// Load reads a file. A secret that stands in it, and not in a file of its own, is
// taken only when nobody but its owner can read the file. What is wrong in the file
// is an ErrInvalid that lists all of it, a line each.
func Load(path string) (*Config, error) {
	source, exposed, err := readFile(path, yamlfile.MaxSourceBytes)
	if err != nil {
		return nil, fmt.Errorf("read the backends: %w", err)
	}
	defer clear(source)
	return parse(source, Options{File: path, Dir: filepath.Dir(path)}, exposed)
}

// Parse is Load for a file that was read already.
func Parse(source []byte, opts Options) (*Config, error) { return parse(source, opts, "") }

// ClientConfig is what a client of the backend needs. It has the secret as a plain
// text: it must not be printed.
func (b *Backend) ClientConfig() backend.HTTPClientConfig {
	return backend.HTTPClientConfig{
		Name:                b.Name,
		BaseURL:             b.URL,
		Timeout:             b.Timeout,
		MaxIdleConns:        b.MaxIdleConns,
		MaxIdleConnsPerHost: b.MaxIdleConnsPerHost,
		Secret:              b.Secret.RevealString(),
		TLSClientConfig:     b.tls.Clone(),
		CBMaxRequests:       b.CircuitBreaker.MaxRequests,
		CBInterval:          b.CircuitBreaker.Interval,
		CBTimeout:           b.CircuitBreaker.Timeout,
		CBFailureThresh:     b.CircuitBreaker.FailureThreshold,
		ProvisionsPageLimit: b.PageLimit,
	}
}

// Dial makes the client of a backend. It may fill in metrics; backend.NewHTTPClient
// is what usually follows.
type Dial func(backend.HTTPClientConfig) backend.Backend

// Entries is every backend with what it takes, in the order of the file. It calls
// dial once for each.
func (c *Config) Entries(dial Dial) []backend.BackendEntry {
	entries := make([]backend.BackendEntry, len(c.Backends))
	for i := range c.Backends {
		b := &c.Backends[i]
		entries[i] = backend.BackendEntry{
			Backend:   dial(b.ClientConfig()),
			Match:     backend.MatchCriteria{SKUs: b.SKUs},
			IsDefault: b.Default,
		}
	}
	return entries
}

// Router is a router of the entries. Of with, its metrics are used, and its own
// backends come first. What cannot be routed is a backend.ErrRouterConfig.
func (c *Config) Router(dial Dial, with backend.RouterConfig) (*backend.Router, error) {
	with.Backends = append(with.Backends[:len(with.Backends):len(with.Backends)], c.Entries(dial)...)
	return backend.NewRouter(with)
}
