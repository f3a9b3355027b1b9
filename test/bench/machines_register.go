package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/registration"
	"github.com/berth-cloud/berth/instances/wire"
)

const (
	registerRounds = 5
	registerBatch  = 200 // machines of a round
	registerAtOnce = 8
)

// measureRegister has machines trade their tokens for certificates, each over a
// connection of its own, and asks a handler in turns that answers with the same bytes.
func measureRegister(ctx context.Context, _ options) (_ []line, err error) {
	m, err := newMachines(ctx)
	defer func() { err = errors.Join(err, m.close()) }()
	if err != nil {
		return nil, err
	}
	manager, _, err := m.manager(ctx, m.memory, 0)
	if err != nil {
		return nil, err
	}
	handler, err := registration.New(registration.Options{Registrar: manager, Verifier: m.authority, PerSecond: 1e6, Burst: 1e6})
	if err != nil {
		return nil, err
	}
	own, err := m.serverCertificate()
	if err != nil {
		return nil, err
	}
	ours, stop, err := serveRegistrations(ctx, handler, handler, own)
	if err != nil {
		return nil, err
	}
	defer stop()
	answer, err := m.registerOne(ctx, manager, ours)
	if err != nil {
		return nil, err
	}
	theirs, stopTheirs, err := serveRegistrations(ctx, handler, answering(answer), own)
	if err != nil {
		return nil, err
	}
	defer stopTheirs()
	var rates [2][]float64
	for n := range registerRounds + 1 {
		for turn := range rates {
			side := (turn + n) % 2
			rate, err := m.registerMany(ctx, manager, [2]string{ours, theirs}[side])
			if err != nil {
				return nil, err
			}
			if n > 0 { // connections, caches and memory are warm
				rates[side] = append(rates[side], rate)
			}
		}
	}
	return []line{{
		What: "machines, registrations per second", Value: median(rates[0]), Format: "%.0f /s",
		Detail: fmt.Sprintf("over TLS 1.3 on the loopback, a connection each, %d at once, both ends in one process; a handler that answers with the same %d bytes and looks at nothing: %.0f /s; medians of %d rounds of %d machines in turns",
			registerAtOnce, len(answer), median(rates[1]), registerRounds, registerBatch),
	}}, nil
}

// serveRegistrations is the server as it is made for ours, with a handler that answers.
func serveRegistrations(ctx context.Context, ours *registration.Handler, answers http.Handler, own func() (*tls.Certificate, error)) (addr string, stop func(), err error) {
	server, err := registration.NewServer(registration.ServerOptions{Handler: ours, Certificate: own})
	if err != nil {
		return "", nil, err
	}
	server.Handler = answers
	l, err := loopback(ctx)
	if err != nil {
		return "", nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.ServeTLS(l, "", "") // until it is closed
	}()
	return l.Addr().String(), func() { _ = server.Close(); <-ended }, nil
}

// answering reads a request and answers with the same bytes every time.
func answering(answer []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
}

// joiner is a machine that may register.
type joiner struct {
	token, public string
	key           ed25519.PrivateKey
}

func newJoiner(ctx context.Context, manager *instances.Manager) (*joiner, error) {
	made, err := manager.CreateInstance(ctx, instances.CreateInstanceRequest{Tenant: "acme", Group: "web"})
	if err != nil {
		return nil, err
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, err
	}
	return &joiner{made.RegistrationJWT, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), key}, nil
}

func (m *machines) registerOne(ctx context.Context, manager *instances.Manager, addr string) ([]byte, error) {
	j, err := newJoiner(ctx, manager)
	if err != nil {
		return nil, err
	}
	return m.join(ctx, j, addr)
}

// registerMany says how many there were in a second.
func (m *machines) registerMany(ctx context.Context, manager *instances.Manager, addr string) (float64, error) {
	all := make([]*joiner, registerBatch)
	for i := range all {
		var err error
		if all[i], err = newJoiner(ctx, manager); err != nil {
			return 0, err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(registerAtOnce)
	began := time.Now()
	for _, j := range all {
		group.Go(func() error {
			_, err := m.join(ctx, j, addr)
			return err
		})
	}
	err := group.Wait()
	return registerBatch / time.Since(began).Seconds(), err
}

// join registers over a connection of its own and returns the answer's body.
func (m *machines) join(ctx context.Context, j *joiner, addr string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	peer := wire.Peer{Roots: m.authority.Pool, Role: wire.RoleServer}
	raw, err := (&tls.Dialer{Config: peer.Client("127.0.0.1")}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	conn, ok := raw.(*tls.Conn)
	if !ok {
		return nil, errors.New("a connection without TLS")
	}
	defer func() { _ = conn.Close() }()
	if by, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(by)
	}
	proof, err := wire.Prove(j.key, j.token, conn.ConnectionState())
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(wire.RegisterRequest{Token: j.token, PublicKeyPEM: j.public, Proof: proof, PrivateIPv4: "10.1.1.1", Hostname: "web"})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+addr+wire.RegisterPath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Close = true
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, wire.MaxBody))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("a registration is answered %d: %s", res.StatusCode, answer)
	}
	return answer, err
}
