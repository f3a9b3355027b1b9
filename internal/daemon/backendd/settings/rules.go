package settings

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/berth-cloud/berth/backend/config"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/secrets"
)

// rules look at more than one value, and at the files that are named.
func (d *decoder) rules(f *draft) {
	d.secretRules(f)
	d.tlsRules(f)
	var err error
	if d.written("sku_profiles") && d.written("sku_mapping") && !d.refused("sku_") {
		f.SKUs, err = sku.New(f.skus)
		d.lines(err)
	}
	if f.Images, err = manifest.NewPolicy(f.registries...); err != nil {
		d.RefuseAt("allowed_registries", err.Error(), "")
	}
	if d.written("total_cpu_cores") && d.written("total_memory_mb") && !d.refused("total_") && !d.refused("tenant_quota") {
		_, err = pool.New(f.Pool)
		d.lines(err)
	}
}

func (d *decoder) written(path string) bool { _, ok := d.At[path]; return ok }

// refused reports whether something is known to be wrong below some keys: what
// follows from it is not worth a line.
func (d *decoder) refused(prefix string) bool {
	for _, p := range d.Errs.Problems {
		if strings.HasPrefix(p.Path, prefix) {
			return true
		}
	}
	return false
}

// lines takes an error that has a line for each fault, each beginning with the path
// of a key, apart.
func (d *decoder) lines(err error) {
	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		for _, kind := range []error{pool.ErrConfig, sku.ErrConfig} {
			line = strings.TrimPrefix(strings.TrimPrefix(line, kind.Error()+":"), " ")
		}
		if line == "" {
			continue
		}
		path, what, found := strings.Cut(line, " ")
		if !found {
			path, what = "", line
		}
		d.RefuseAt(strings.ReplaceAll(path, `"`, ""), what, "")
	}
}

func (d *decoder) secretRules(f *draft) {
	f.Requests = nil
	for _, from := range []struct{ key, file string }{{"secret_file", f.secretFile}, {"previous_secret_file", f.previousFile}} {
		if s, ok := d.secret(from.key, from.file); ok {
			f.Requests = append(f.Requests, s)
		}
	}
	if s, ok := d.secret("callback_secret_file", f.callbackFile); ok {
		f.Callback = s
	} else if f.callbackFile == "" && len(f.Requests) > 0 {
		f.Callback = f.Requests[0]
	}
}

func (d *decoder) secret(key, file string) (secrets.Secret, bool) {
	if file == "" {
		return secrets.Secret{}, false
	}
	s, err := config.ReadSecretFile(file)
	if err != nil {
		advice := ""
		if errors.Is(err, fs.ErrNotExist) {
			advice = config.HowToMakeSecret(file) + ", or copy the one that the holder of leases has"
		}
		d.RefuseAt(key, err.Error(), advice)
	}
	return s, err == nil
}

// tlsRules make the configuration of the server.
func (d *decoder) tlsRules(f *draft) {
	if f.said == nil || f.said.certFile == "" || f.said.keyFile == "" {
		return
	}
	pair, err := config.ReadKeyPair(f.said.certFile, f.said.keyFile)
	if err != nil {
		d.RefuseAt("tls", err.Error(), "")
		return
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}
	if f.said.clientCAFile != "" {
		if c.ClientCAs, err = authorities(f.said.clientCAFile); err != nil {
			d.RefuseAt("tls.client_ca_file", err.Error(), "")
			return
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	f.tls = c
}

func authorities(file string) (*x509.CertPool, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := x509.NewCertPool()
	if !all.AppendCertsFromPEM(raw) {
		return nil, errors.New("it has no certificate in PEM form")
	}
	return all, nil
}
