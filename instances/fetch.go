package instances

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/internal/egress"
)

// fetcher gets user data from URLs. What it connects to is judged by the address that
// a name resolved to, at the moment of the connection; there is no proxy and no
// redirect. Its errors hold no URL: it may have a password in it.
type fetcher struct{ client *http.Client }

const maxFetchHeader = 16 << 10

func newFetcher(check func(netip.Addr) error) fetcher {
	dialer := &egress.Dialer{Check: check}
	return fetcher{&http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    egress.DialTimeout,
			MaxResponseHeaderBytes: maxFetchHeader,
			DisableCompression:     true, // what is bounded is what comes
			DisableKeepAlives:      true,
		},
	}}
}

func (f fetcher) get(ctx context.Context, address string, limits config.UserdataURLs) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, errors.New("its URL cannot be read")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !limits.AllowHTTP) {
		return nil, errors.New("its URL has to begin with https://, or the shard to set userdata_urls.allow_http")
	}
	ctx, cancel := context.WithTimeout(ctx, limits.Timeout.Std())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("its URL cannot be asked for")
	}
	res, err := f.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("get it from %s: %w", clip(u.Hostname()), inner(err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d, not 200; redirects are not followed", clip(u.Hostname()), res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, int64(limits.MaxBytes)+1))
	if err != nil {
		return nil, fmt.Errorf("read it from %s: %w", clip(u.Hostname()), inner(err))
	}
	if len(data) > limits.MaxBytes {
		return nil, fmt.Errorf("what %s sends has more than %d bytes", clip(u.Hostname()), limits.MaxBytes)
	}
	return data, nil
}

// inner leaves the URL out that a *url.Error repeats.
func inner(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
