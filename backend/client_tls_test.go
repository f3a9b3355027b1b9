package backend_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http/httptest"
	"testing"

	"github.com/berth-cloud/berth/backend"
)

// tlsServer is a backend with a certificate for example.com and 127.0.0.1, and a
// configuration that trusts it.
func tlsServer(t *testing.T, server *tls.Config) (*httptest.Server, *tls.Config) {
	t.Helper()
	srv := httptest.NewUnstartedServer(saysJSON(200, `{"status":"healthy"}`))
	srv.TLS = server
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return srv, &tls.Config{RootCAs: roots}
}

// healthOver is the health of the server as a client sees it that connects anew.
func healthOver(t *testing.T, srv *httptest.Server, cfg *tls.Config) error {
	t.Helper()
	c := backend.NewHTTPClient(backend.HTTPClientConfig{Name: "b1", BaseURL: srv.URL, TLSClientConfig: cfg})
	defer c.Close()
	return c.Health(t.Context())
}

func TestTLS(t *testing.T) {
	srv, trust := tlsServer(t, nil)
	reckless := &tls.Config{InsecureSkipVerify: true}
	refusing := trust.Clone()
	refusing.VerifyConnection = func(tls.ConnectionState) error { return io.ErrUnexpectedEOF }
	tests := []struct {
		name string
		cfg  *tls.Config
		ok   bool
	}{
		{"the roots of the system", nil, false},
		{"the roots of the configuration", trust, true},
		{"the name of the certificate", backend.PinServerNames(trust, "example.com"), true},
		{"its address", backend.PinServerNames(trust, "127.0.0.1"), true},
		{"one of several names", backend.PinServerNames(trust, "other.example", "example.com"), true},
		{"another name", backend.PinServerNames(trust, "other.example"), false},
		{"no name", backend.PinServerNames(trust), false},
		{"an empty name", backend.PinServerNames(trust, ""), false},
		{"the right name and no roots", backend.PinServerNames(nil, "example.com"), false},
		{"the right name of a base without verification", backend.PinServerNames(reckless, "example.com"), false},
		{"the right name of a base that refuses", backend.PinServerNames(refusing, "example.com"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := healthOver(t, srv, tt.cfg); (err == nil) != tt.ok {
				t.Errorf("the health is %v", err)
			}
		})
	}
	if trust.VerifyConnection != nil || trust.MinVersion != 0 || !reckless.InsecureSkipVerify {
		t.Error("a configuration that was handed over is changed")
	}
}

func TestTLSBefore13IsRefused(t *testing.T) {
	srv, trust := tlsServer(t, &tls.Config{MaxVersion: tls.VersionTLS12})
	old := trust.Clone()
	old.MinVersion = tls.VersionTLS12
	for name, cfg := range map[string]*tls.Config{"as given": trust, "from 1.2 on": old, "pinned": backend.PinServerNames(old, "example.com")} {
		if err := healthOver(t, srv, cfg); err == nil || !hasParts(err.Error(), "protocol version") {
			t.Errorf("%s: the health is %v, want that the version is refused", name, err)
		}
	}
}

func TestAWrongNameIsRefusedOnAResumedSession(t *testing.T) {
	srv, trust := tlsServer(t, nil)
	var resumed []bool
	trust.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	trust.VerifyConnection = func(state tls.ConnectionState) error {
		resumed = append(resumed, state.DidResume)
		return nil
	}
	if err := healthOver(t, srv, backend.PinServerNames(trust, "example.com")); err != nil {
		t.Fatal(err)
	}
	if err := healthOver(t, srv, backend.PinServerNames(trust, "example.com")); err != nil {
		t.Errorf("the right name is refused when the session is resumed: %v", err)
	}
	err := healthOver(t, srv, backend.PinServerNames(trust, "other.example"))
	if err == nil || !hasParts(err.Error(), "none of the names", "other.example") {
		t.Errorf("the health is %v, want that the name is refused", err)
	}
	if len(resumed) != 3 || resumed[0] || !resumed[1] || !resumed[2] {
		t.Fatalf("the sessions were resumed: %v, want the second and the third", resumed)
	}
}

func TestAServerMayAskForACertificate(t *testing.T) {
	srv, trust := tlsServer(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	if err := healthOver(t, srv, trust); err == nil {
		t.Error("a client without a certificate is let in")
	}
	trust.Certificates = srv.TLS.Certificates
	if err := healthOver(t, srv, backend.PinServerNames(trust, "example.com")); err != nil {
		t.Errorf("a client with a certificate is refused: %v", err)
	}
}
