package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/berth-cloud/berth/backend/hmacauth"
)

var _ Backend = (*HTTPClient)(nil)

// HTTPClient is a Backend that is reached over HTTP. Many may use one at once.
//
// Every call but Health goes through a circuit breaker: after so many failures in a
// row the backend is left alone for a while, and calls are ErrCircuitOpen. What the
// backend refuses for a reason is no failure. A call ends with its context, and at
// the latest after the Timeout of the configuration; a list takes that for each of
// its pages.
//
// The UUIDs of leases have the form with four hyphens; another is ErrValidation,
// and nothing is sent.
type HTTPClient struct {
	cfg     HTTPClientConfig
	base    *url.URL
	key     *hmacauth.Key // nil leaves requests unsigned
	http    *http.Client
	breaker *gobreaker.CircuitBreaker[struct{}]
	log     *slog.Logger
	now     func() time.Time
	// maxPages and maxListed are of a list.
	maxPages, maxListed int
	// broken is why the configuration is good for no call.
	broken error
}

// NewHTTPClient makes a client. It connects to nothing, and does not fail: where
// BaseURL or Secret cannot be used, every call says so.
func NewHTTPClient(cfg HTTPClientConfig) *HTTPClient {
	cfg.setDefaults()
	c := &HTTPClient{cfg: cfg, log: cfg.Logger, now: cfg.Now, maxPages: maxPages, maxListed: maxListed}
	c.base, c.broken = parseBaseURL(cfg.BaseURL)
	if cfg.Secret != "" && c.broken == nil {
		c.key, c.broken = hmacauth.NewKey(cfg.Secret)
	}
	c.cfg.Secret = "" // the key is all that is needed
	c.http = &http.Client{
		Transport: newTransport(&cfg),
		// The request that a redirect asks for is not the one that was signed.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.breaker = c.newBreaker()
	return c
}

// setDefaults fills in what was left out.
func (cfg *HTTPClientConfig) setDefaults() {
	const (
		timeout      = 30 * time.Second
		idle         = 100
		idlePerHost  = 10
		breakerOpen  = 60 * time.Second
		breakerTrips = 5
	)
	if cfg.Timeout <= 0 {
		cfg.Timeout = timeout
	}
	if cfg.CBTimeout <= 0 {
		cfg.CBTimeout = breakerOpen
	}
	cfg.MaxIdleConns = cmp.Or(max(cfg.MaxIdleConns, 0), idle)
	cfg.MaxIdleConnsPerHost = cmp.Or(max(cfg.MaxIdleConnsPerHost, 0), idlePerHost)
	cfg.CBMaxRequests = cmp.Or(cfg.CBMaxRequests, 1)
	cfg.CBFailureThresh = cmp.Or(cfg.CBFailureThresh, breakerTrips)
	for bound, otherwise := range map[*int64]int64{
		&cfg.MaxInfoBytes:             DefaultMaxInfoBytes,
		&cfg.MaxProvisionBytes:        DefaultMaxProvisionBytes,
		&cfg.MaxProvisionsBytes:       DefaultMaxProvisionsBytes,
		&cfg.MaxLookupProvisionsBytes: DefaultMaxLookupProvisionsBytes,
		&cfg.MaxLogsBytes:             DefaultMaxLogsBytes,
		&cfg.MaxReleasesBytes:         DefaultMaxReleasesBytes,
		&cfg.MaxStatsBytes:            DefaultMaxStatsBytes,
		&cfg.MaxRetentionsBytes:       DefaultMaxRetentionsBytes,
	} {
		*bound = cmp.Or(max(*bound, 0), otherwise)
	}
	cfg.ProvisionsPageLimit = min(cmp.Or(max(cfg.ProvisionsPageLimit, 0), DefaultProvisionsPageLimit), MaxPageLimit)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
}

// parseBaseURL is the URL that the paths of endpoints are put after. Its errors do
// not have the URL, which may have a password in it.
func parseBaseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the base URL cannot be parsed")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the base URL does not begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("the base URL has no host")
	case u.User != nil:
		return nil, errors.New("the base URL has a user in it, and requests are signed instead")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("the base URL has a query or a fragment")
	}
	return u, nil
}

// Name is what the backend is called in the configuration.
func (c *HTTPClient) Name() string { return c.cfg.Name }

// Close closes the connections that no call is using. Calls that come later open
// others.
func (c *HTTPClient) Close() { c.http.CloseIdleConnections() }

// RefreshState does nothing: what the backend answers is as new as it knows.
func (c *HTTPClient) RefreshState(context.Context) error { return nil }

// target is the URL of an endpoint for a request. Nothing in a lease's name needs to
// be escaped once it is a UUID; it is all the same.
func (c *HTTPClient) target(path string, req request) string {
	text := strings.TrimRight(c.base.Scheme+"://"+c.base.Host+c.base.EscapedPath(), "/") +
		strings.Replace(path, "{lease}", url.PathEscape(req.lease), 1)
	if req.query != "" {
		text += "?" + req.query
	}
	return text
}

// fail says whose error it is, and of what.
func (c *HTTPClient) fail(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("backend %s: %s: %w", c.cfg.Name, operation, err)
}
