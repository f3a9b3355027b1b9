package backend

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	dialTimeout      = 10 * time.Second
	idleTimeout      = 90 * time.Second
	keepAlive        = 30 * time.Second
	maxResponseHeads = 64 << 10 // bytes of all headers of an answer
)

// newTransport makes the connections of one client: HTTP/1.1, straight to the
// backend whatever the environment says of proxies, with TLS 1.3 or later.
// Compressed answers are not asked for, so that the bytes that are bounded are
// those that come.
func newTransport(cfg *HTTPClientConfig) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        atLeastTLS13(cfg.TLSClientConfig),
		TLSHandshakeTimeout:    dialTimeout,
		Protocols:              protocols,
		DisableCompression:     true,
		MaxIdleConns:           cfg.MaxIdleConns,
		MaxIdleConnsPerHost:    cfg.MaxIdleConnsPerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHeads,
	}
}

func atLeastTLS13(base *tls.Config) *tls.Config {
	if base == nil {
		return &tls.Config{MinVersion: tls.VersionTLS13}
	}
	out := base.Clone()
	out.MinVersion = max(out.MinVersion, tls.VersionTLS13)
	return out
}

// PinServerNames is a configuration with which a connection stands only if the
// server's certificate is good for one of the names, as well as for the host that
// was dialled. base may be nil, and is left as it is: its roots, its client
// certificates and its own VerifyConnection hold. Without a name no connection
// stands. Verification cannot be switched off in it, and TLS is 1.3 or later.
//
// The names are looked at on every connection, also one that resumes an earlier
// session, for which VerifyPeerCertificate would not be called.
func PinServerNames(base *tls.Config, names ...string) *tls.Config {
	out := atLeastTLS13(base)
	out.InsecureSkipVerify = false
	before := out.VerifyConnection
	names = append([]string(nil), names...)
	out.VerifyConnection = func(state tls.ConnectionState) error {
		if before != nil {
			if err := before(state); err != nil {
				return err
			}
		}
		return checkNames(state.PeerCertificates, names)
	}
	return out
}

func checkNames(certs []*x509.Certificate, names []string) error {
	if len(certs) == 0 {
		return errors.New("tls: the server has no certificate")
	}
	for _, name := range names {
		if certs[0].VerifyHostname(name) == nil {
			return nil
		}
	}
	return fmt.Errorf("tls: the server's certificate is for %s, and for none of the names that are allowed: %s",
		clip(strings.Join(certs[0].DNSNames, ", ")), strings.Join(names, ", "))
}
