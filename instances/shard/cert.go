package shard

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/wire"
)

// serverCert is the certificate of this server, signed anew when two thirds of its life
// are over. Its key lives in memory: another process has another.
type serverCert struct {
	authority *ca.Authority
	request   ca.Request
	key       ed25519.PrivateKey
	now       func() time.Time

	mu    sync.Mutex
	cert  *tls.Certificate
	renew time.Time
}

func newServerCert(a *ca.Authority, id string, conf *config.Config, now func() time.Time) (*serverCert, error) {
	hosts, err := hostsOf(conf.Shard.Server)
	if err != nil {
		return nil, err
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	c := &serverCert{authority: a, key: key, now: now, request: ca.Request{
		Role: wire.RoleServer, Name: id, Hosts: hosts, PublicKey: public, TTL: conf.Certificates.ServerTTL.Std(),
	}}
	_, err = c.get()
	return c, err
}

// hostsOf are the names and addresses under which machines reach this server.
func hostsOf(s config.Server) ([]string, error) {
	var hosts []string
	for _, addr := range []string{s.RegistrationAddr, s.AgentAddr, s.OperatorAddr} {
		if addr == "" {
			continue
		}
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("server address %q: %w", addr, err)
		}
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

func (c *serverCert) get() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if c.cert != nil && now.Before(c.renew) {
		return c.cert, nil
	}
	signed, err := c.authority.Issue(c.request)
	if err != nil {
		return nil, fmt.Errorf("certificate of the server: %w", err)
	}
	block, _ := pem.Decode(signed.PEM)
	if block == nil {
		return nil, errors.New("certificate of the server: the authority answered with no PEM")
	}
	c.cert = &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: c.key}
	c.renew = now.Add(signed.NotAfter.Sub(now) * 2 / 3)
	return c.cert, nil
}
