package registration

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

const (
	tlsVersion = tls.VersionTLS13

	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 40 * time.Second
	idleTimeout   = 30 * time.Second
	maxHeader     = 8 << 10
)

// ServerOptions are what a server of registrations is made of.
type ServerOptions struct {
	Handler *Handler // required
	// Certificate is the server's own, asked for at every handshake; required. Its
	// role is "server".
	Certificate func() (*tls.Certificate, error)
	// Now is the clock of TLS; nil is the system's.
	Now func() time.Time
	// Logger gets what goes wrong below HTTP, such as failed handshakes; nil is nowhere.
	Logger *slog.Logger
}

// shown is the server's certificate and the authorities of the cluster: a host that joins
// knows them by their fingerprints alone.
func (o *ServerOptions) shown() (*tls.Certificate, error) {
	own, err := o.Certificate()
	if err != nil || own == nil {
		return own, err
	}
	with := *own
	with.Certificate = slices.Clone(own.Certificate)
	for block, rest := pem.Decode(o.Handler.opts.Verifier.CAPEM()); block != nil; block, rest = pem.Decode(rest) {
		with.Certificate = append(with.Certificate, block.Bytes)
	}
	return &with, nil
}

// NewServer is an HTTP server for ServeTLS(listener, "", ""): TLS 1.3 and HTTP/1.1, every
// read and write with a deadline. It asks for a certificate and takes none for granted:
// who comes for the first time has none.
func NewServer(opts ServerOptions) (*http.Server, error) {
	if opts.Handler == nil || opts.Certificate == nil {
		return nil, errors.New("new registration server: Handler and Certificate are needed")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           opts.Handler,
		Protocols:         protocols,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug),
		TLSConfig: &tls.Config{
			MinVersion:             tlsVersion,
			ClientAuth:             tls.RequestClientCert,
			SessionTicketsDisabled: true,
			Time:                   opts.Now,
			GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return opts.shown() },
		},
	}, nil
}
