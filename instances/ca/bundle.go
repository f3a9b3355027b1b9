package ca

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/berth-cloud/berth/instances/storage"
)

// BundleKey is the object of the certificates, below the cluster's folder.
const BundleKey = "cluster/ca.json"

// stage is where one authority stands between its making and its end.
type stage string

const (
	stageNext   stage = "next"   // trusted, does not sign yet
	stageActive stage = "active" // signs
	stageOld    stage = "old"    // trusted until all that it signed has ended
)

// member is one authority of the bundle.
type member struct {
	ID          string    `json:"id"` // hex of the SHA-256 of its public key
	Stage       stage     `json:"stage"`
	Certificate string    `json:"certificate"`
	Since       time.Time `json:"since"` // when it came to its stage

	parsed *x509.Certificate
}

// bundle is the object. Version makes its bytes, and so its tag, new at every write.
type bundle struct {
	Schema  int      `json:"schema"`
	Version int64    `json:"version"`
	Members []member `json:"members"`
}

const schema = 1

func (b *bundle) at(s stage) *member {
	for i := range b.Members {
		if b.Members[i].Stage == s {
			return &b.Members[i]
		}
	}
	return nil
}

// parseBundle refuses all that this package would not have written.
func parseBundle(data []byte) (*bundle, error) {
	var b bundle
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return nil, fmt.Errorf("%w: %s is not readable", ErrInconsistent, BundleKey)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || b.Schema != schema {
		return nil, fmt.Errorf("%w: %s is of another form than this program writes", ErrInconsistent, BundleKey)
	}
	active := 0
	for i := range b.Members {
		m := &b.Members[i]
		block, rest := pem.Decode([]byte(m.Certificate))
		if block == nil || len(rest) > 0 {
			return nil, fmt.Errorf("%w: authority %s has no certificate", ErrInconsistent, m.ID)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil || keyID(cert.PublicKey) != m.ID || !cert.IsCA {
			return nil, fmt.Errorf("%w: the certificate of authority %s is not its own", ErrInconsistent, m.ID)
		}
		m.parsed = cert
		if m.Stage == stageActive {
			active++
		}
	}
	if active != 1 {
		return nil, fmt.Errorf("%w: %d authorities sign, one has to", ErrInconsistent, active)
	}
	return &b, nil
}

// read returns the bundle, its tag, and nil when the store says that there is none.
func (a *Authority) read(ctx context.Context) (*bundle, string, error) {
	data, tag, err := a.opts.Storage.Get(ctx, BundleKey)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the cluster's authority: %w", err)
	}
	b, err := parseBundle(data)
	return b, tag, err
}

func (a *Authority) write(ctx context.Context, b *bundle, tag string) error {
	b.Schema = schema
	b.Version++
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	if _, err := a.opts.Storage.PutIfMatch(ctx, BundleKey, data, tag); err != nil {
		return fmt.Errorf("write the cluster's authority: %w", err)
	}
	return nil
}
