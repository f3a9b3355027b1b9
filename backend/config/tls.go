package config

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// maxPEMBytes bounds a file of certificates or with a key.
const maxPEMBytes = 1 << 20

// tlsDraft is what stands under tls.
type tlsDraft struct {
	caFile, certFile, keyFile string
	serverName                string
	allowedNames              []string
}

// tlsFields are the keys of tls.
func tlsFields() []field[tlsDraft] {
	return []field[tlsDraft]{
		{Name: "ca_file", Read: func(d *decoder, v value, t *tlsDraft) { t.caFile = d.file(v) }},
		{Name: "cert_file", Read: func(d *decoder, v value, t *tlsDraft) { t.certFile = d.file(v) }},
		{Name: "key_file", Read: func(d *decoder, v value, t *tlsDraft) { t.keyFile = d.file(v) }},
		{Name: "server_name", Read: func(d *decoder, v value, t *tlsDraft) { t.serverName = d.hostName(v) }},
		{Name: "allowed_names", Read: func(d *decoder, v value, t *tlsDraft) {
			if d.Items(v, "[docker-1.internal]", func(_ int, item value) { t.allowedNames = append(t.allowedNames, d.hostName(item)) }) && len(v.Content) == 0 {
				d.Refuse(v, "no name is allowed, so no server would be", "write one, or leave the key out")
			}
		}},
	}
}

// hostName is a name or an address that a certificate may be for.
func (d *decoder) hostName(v value) string {
	text, ok := d.Str(v)
	if ok && (text == "" || len(text) > 253 || strings.ContainsAny(text, " \t\r\n/*")) {
		d.Refuse(v, yamlfile.Quote(text)+" is not the name of a host", "write one, without a port and without *")
	}
	return text
}

// tlsRules make the configuration of a backend's connections.
func (d *decoder) tlsRules(b *draft) {
	https := strings.HasPrefix(b.URL, "https:")
	switch {
	case b.said == nil && https:
		b.Backend.tls = &tls.Config{MinVersion: tls.VersionTLS13}
		return
	case b.said == nil:
		return
	case b.URL != "" && !https:
		d.RefuseAt(b.at("tls"), "the url is http", "write https:// in it, or leave tls out")
	}
	t, c := b.said, &tls.Config{MinVersion: tls.VersionTLS13, ServerName: b.said.serverName}
	if t.caFile != "" {
		c.RootCAs = d.pool(b.at("tls")+".ca_file", t.caFile)
	}
	if t.certFile != "" || t.keyFile != "" {
		if pair, ok := d.pair(b, t); ok {
			c.Certificates = []tls.Certificate{pair}
		}
	}
	if len(t.allowedNames) > 0 {
		c = backend.PinServerNames(c, t.allowedNames...)
	}
	b.Backend.tls = c
}

// pool reads the certificates of those who are trusted.
func (d *decoder) pool(path, file string) *x509.CertPool {
	raw, _, err := readFile(d.inDir(file), maxPEMBytes)
	if err == nil {
		var pool *x509.CertPool
		if pool, err = poolOf(raw); err == nil {
			return pool
		}
		err = fmt.Errorf("%s: %w", file, err)
	}
	d.RefuseAt(path, err.Error(), "")
	return nil
}

// poolOf takes every certificate or none: one that is passed over would be missed
// when it is needed.
func poolOf(raw []byte) (*x509.CertPool, error) {
	pool, n := x509.NewCertPool(), 0
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it has a block %s, and not certificates alone", yamlfile.Quote(block.Type))
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("its certificate %d cannot be read: %w", n+1, err)
		}
		pool.AddCert(cert)
		n++
	}
	if n == 0 {
		return nil, errors.New("it has no certificate in PEM form")
	}
	return pool, nil
}

// pair reads the certificate by which the client is known, with its key.
func (d *decoder) pair(b *draft, t *tlsDraft) (tls.Certificate, bool) {
	certPath, keyPath := b.at("tls")+".cert_file", b.at("tls")+".key_file"
	switch {
	case t.keyFile == "":
		d.RefuseAt(certPath, "there is no key_file for the certificate", "write it, or leave the certificate out")
		return tls.Certificate{}, false
	case t.certFile == "":
		d.RefuseAt(keyPath, "there is no cert_file for the key", "write it, or leave the key out")
		return tls.Certificate{}, false
	}
	cert, _, certErr := readFile(d.inDir(t.certFile), maxPEMBytes)
	if certErr != nil {
		d.RefuseAt(certPath, certErr.Error(), "")
	}
	key, exposed, keyErr := readFile(d.inDir(t.keyFile), maxPEMBytes)
	defer clear(key)
	switch {
	case keyErr != nil:
		d.RefuseAt(keyPath, keyErr.Error(), "")
	case exposed != "":
		d.RefuseAt(keyPath, exposedWords+": "+exposed, "")
	}
	if certErr != nil || keyErr != nil || exposed != "" {
		return tls.Certificate{}, false
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		d.RefuseAt(certPath, "certificate and key do not make a pair: "+err.Error(), "")
		return tls.Certificate{}, false
	}
	return pair, true
}
