package registration

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/wire"
)

// Registrar decides who gets a certificate.
type Registrar interface {
	// Register is called when the possession of the key was proven.
	Register(ctx context.Context, req instances.RegisterRequest) (*instances.Registration, error)
	// Renew is called when the certificate was verified.
	Renew(ctx context.Context, req instances.RenewRequest) (*instances.Registration, error)
	// Denied reports whether a certificate holds no more.
	Denied(serial string) bool
}

var _ Registrar = (*instances.Manager)(nil)

// Verifier says who the holder of a certificate is; *ca.Authority is one.
type Verifier interface {
	// VerifyLapsed takes a certificate that ended up to grace ago as well, and says so.
	VerifyLapsed(leaf *x509.Certificate, usage x509.ExtKeyUsage, grace time.Duration) (who wire.Identity, lapsed bool, err error)
	// CAPEM is the authorities of the cluster.
	CAPEM() []byte
}

// Options are what a Handler is made of.
type Options struct {
	Registrar Registrar // required
	Verifier  Verifier  // required
	Logger    *slog.Logger
	// Now is the clock of the limits; nil is the system's.
	Now func() time.Time
	// AtOnce is how many requests are worked on, 64 when 0.
	AtOnce int
	// PerSecond and Burst bound the requests of one address, and the renewals of one
	// instance: 5 and 20 when 0.
	PerSecond, Burst float64
	// Grace is for how long after its end a certificate can still be renewed, while the
	// record says that the instance is to be there and has this key; 7 days when 0. It
	// is what lets machines come back after a control plane that was away for longer
	// than their certificates live.
	Grace time.Duration
	// Timeout bounds the work on one request, 20 s when 0.
	Timeout time.Duration
}

// Handler answers registrations and renewals. It serves behind TLS 1.3 alone.
type Handler struct {
	opts  Options
	slots chan struct{}
	limit *limiter
}

var _ http.Handler = (*Handler)(nil)

// New makes a handler.
func New(opts Options) (*Handler, error) {
	if opts.Registrar == nil || opts.Verifier == nil {
		return nil, errors.New("new registration handler: Registrar and Verifier are needed")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.AtOnce <= 0 {
		opts.AtOnce = 64
	}
	if opts.PerSecond <= 0 {
		opts.PerSecond = 5
	}
	if opts.Burst <= 0 {
		opts.Burst = 20
	}
	if opts.Grace <= 0 {
		opts.Grace = 7 * 24 * time.Hour
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 20 * time.Second
	}
	h := &Handler{
		opts: opts, slots: make(chan struct{}, opts.AtOnce),
		limit: newLimiter(opts.Now, opts.PerSecond, opts.Burst),
	}
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if r.TLS == nil || r.TLS.Version < tlsVersion || !r.TLS.HandshakeComplete {
		// A proof cannot be bound to anything else.
		h.refuse(w, http.StatusUpgradeRequired, wire.CodeProofInvalid, "registration is spoken over TLS 1.3")
		return
	}
	if !h.limit.allow(h.asker(r)) {
		w.Header().Set("Retry-After", "1")
		h.refuse(w, http.StatusTooManyRequests, wire.CodeRateLimited, "too many requests; ask again later")
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		h.refuse(w, http.StatusServiceUnavailable, wire.CodeRateLimited, "too many requests at once; ask again later")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.opts.Timeout)
	defer cancel()
	r.Body = http.MaxBytesReader(w, r.Body, wire.MaxBody)
	r = r.WithContext(ctx)
	// No multiplexer: one would redirect a path that it finds untidy.
	switch {
	case r.URL.Path != wire.RegisterPath && r.URL.Path != wire.RenewPath:
		h.refuse(w, http.StatusNotFound, wire.CodeInternal, "there is nothing here but registration and renewal")
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		h.refuse(w, http.StatusMethodNotAllowed, wire.CodeInternal, "registration and renewal are a POST")
	case r.URL.Path == wire.RegisterPath:
		h.register(w, r)
	default:
		h.renew(w, r)
	}
}

// asker is who a request is counted for: an instance that shows a certificate of its own,
// so that what else has its address, such as a container on the machine, does not take its
// requests away; or else an address.
func (h *Handler) asker(r *http.Request) string {
	if r.URL.Path == wire.RenewPath && len(r.TLS.PeerCertificates) > 0 {
		who, _, err := h.opts.Verifier.VerifyLapsed(r.TLS.PeerCertificates[0], x509.ExtKeyUsageClientAuth, h.opts.Grace)
		if err == nil && who.Role == wire.RoleAgent {
			return who.InstanceID
		}
	}
	return origin(r.RemoteAddr).String()
}

func (h *Handler) register(w http.ResponseWriter, r *http.Request) {
	var req wire.RegisterRequest
	if err := readBody(r.Body, &req); err != nil {
		h.refuse(w, http.StatusBadRequest, wire.CodeTokenInvalid, err.Error())
		return
	}
	key, err := parseKey(req.PublicKeyPEM)
	if err != nil {
		h.refuse(w, http.StatusBadRequest, wire.CodeProofInvalid, err.Error())
		return
	}
	if !wire.Proven(key, req.Token, *r.TLS, req.Proof) {
		h.refuse(w, http.StatusUnauthorized, wire.CodeProofInvalid, "the proof is not one of this key for this token in this connection")
		return
	}
	got, err := h.opts.Registrar.Register(r.Context(), instances.RegisterRequest{
		Token: req.Token, PublicKey: key,
		PrivateIPv4: req.PrivateIPv4, PrivateIPv6: req.PrivateIPv6, Hostname: req.Hostname,
	})
	h.answer(w, r, got, err)
}

func (h *Handler) renew(w http.ResponseWriter, r *http.Request) {
	if len(r.TLS.PeerCertificates) == 0 {
		h.refuse(w, http.StatusUnauthorized, wire.CodeProofInvalid, "renewal needs the certificate that is to be renewed")
		return
	}
	leaf := r.TLS.PeerCertificates[0]
	who, lapsed, err := h.opts.Verifier.VerifyLapsed(leaf, x509.ExtKeyUsageClientAuth, h.opts.Grace)
	key, isKey := leaf.PublicKey.(ed25519.PublicKey)
	if err != nil || !isKey || who.Role != wire.RoleAgent {
		h.refuse(w, http.StatusUnauthorized, wire.CodeProofInvalid, "the certificate is not one of an agent of this cluster, or ended too long ago")
		return
	}
	if h.opts.Registrar.Denied(who.Serial) {
		h.refuse(w, http.StatusGone, wire.CodeInstanceDeleted, "the certificate holds no more")
		return
	}
	if lapsed {
		h.opts.Logger.WarnContext(r.Context(), "an agent comes with a certificate that has ended; its record decides", "instance", who.InstanceID, "remote", r.RemoteAddr, "ended", leaf.NotAfter)
	}
	got, err := h.opts.Registrar.Renew(r.Context(), instances.RenewRequest{
		InstanceID: who.InstanceID, Tenant: who.Tenant, PublicKey: key, Serial: who.Serial,
	})
	h.answer(w, r, got, err)
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request, got *instances.Registration, err error) {
	if err != nil {
		status, code, text := problem(err)
		if code == wire.CodeInternal {
			h.opts.Logger.ErrorContext(r.Context(), "a registration failed", "path", r.URL.Path, "remote", r.RemoteAddr, "error", err)
		}
		h.refuse(w, status, code, text)
		return
	}
	h.opts.Logger.InfoContext(r.Context(), "an agent got a certificate", "path", r.URL.Path, "instance", got.InstanceID, "tenant", got.Tenant, "until", got.ExpiresAt)
	writeJSON(w, http.StatusOK, wire.Registration{
		InstanceID: got.InstanceID, CertificatePEM: string(got.CertificatePEM),
		CAPEM: string(got.CAPEM), ExpiresAt: got.ExpiresAt,
	})
}

func (h *Handler) refuse(w http.ResponseWriter, status int, code, text string) {
	writeJSON(w, status, wire.Problem{Code: code, Error: text})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"code":"internal","error":"the answer could not be written"}`)
	}
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// readBody reads one JSON object and nothing behind it. What is wrong is said without
// repeating any of it.
func readBody(r io.Reader, into any) error {
	d := json.NewDecoder(r)
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err == nil {
			err = errors.New("trailing data")
		}
	}
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return fmt.Errorf("the body is longer than %d bytes", wire.MaxBody)
	}
	return errors.New("the body is not one JSON object of a registration")
}

func parseKey(text string) (ed25519.PublicKey, error) {
	wrong := errors.New("public_key_pem is not an Ed25519 key in PKIX and PEM")
	block, rest := pem.Decode([]byte(text))
	if block == nil || strings.TrimSpace(string(rest)) != "" {
		return nil, wrong
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, wrong
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, wrong
	}
	return key, nil
}
