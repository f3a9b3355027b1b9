package config_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/config"
)

// keys are the files of a client, and the authority that signed for it and signs
// for servers.
func keys(t *testing.T) (dir string, ca *authority) {
	t.Helper()
	dir, ca = t.TempDir(), newAuthority(t)
	cert, key := ca.issue(t, "holder")
	put(t, dir, "ca.pem", ca.pem+newAuthority(t).pem, 0o644)
	put(t, dir, "holder.pem", cert, 0o644)
	put(t, dir, "holder-key.pem", key, 0o600)
	return dir, ca
}

func overTLS(fields string) string {
	return fmt.Sprintf("backends: [{name: a, url: 'https://a', unsigned: true, tls: {%s}}]", fields)
}

func clientOf(t *testing.T, dir, fields string) *tls.Config {
	t.Helper()
	c, err := config.Parse([]byte(overTLS(fields)), config.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return c.Backends[0].ClientConfig().TLSClientConfig
}

// handshake connects a client to a server of those names. The server
// says who the client is.
func handshake(t *testing.T, client *tls.Config, ca *authority, serverNames ...string) (who string, err error) {
	t.Helper()
	cert, key := ca.issue(t, serverNames...)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	dialled, roots := make(chan error, 1), x509.NewCertPool()
	roots.AddCert(ca.cert)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go func() {
		conn, err := (&tls.Dialer{Config: client}).DialContext(ctx, "tcp", l.Addr().String())
		if err == nil {
			_ = conn.Close()
		}
		dialled <- err
	}()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	server := conn.(*tls.Conn)
	serverErr := server.HandshakeContext(ctx)
	if err := <-dialled; err != nil {
		return "", err
	}
	if serverErr != nil {
		return "", serverErr
	}
	if peers := server.ConnectionState().PeerCertificates; len(peers) > 0 {
		who = peers[0].DNSNames[0]
	}
	return who, nil
}

func TestConnectionsAreAsTheFileSays(t *testing.T) {
	dir, ca := keys(t)
	for name, c := range map[string]struct {
		fields  string
		server  []string
		who     string
		refused string
	}{
		"an own authority":               {"ca_file: ca.pem, server_name: a", []string{"a"}, "", ""},
		"a server by another name":       {"ca_file: ca.pem, server_name: a", []string{"b"}, "", "not a"},
		"an authority that nobody knows": {"server_name: a", []string{"a"}, "", "unknown authority"},
		"a client with a certificate":    {"ca_file: ca.pem, server_name: a, cert_file: holder.pem, key_file: holder-key.pem", []string{"a"}, "holder", ""},
		"a name that is allowed":         {"ca_file: ca.pem, server_name: a, allowed_names: [c, b]", []string{"a", "b"}, "", ""},
		"a name that is not":             {"ca_file: ca.pem, server_name: a, allowed_names: [c, d]", []string{"a", "b"}, "", "none of the names that are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			who, err := handshake(t, clientOf(t, dir, c.fields), ca, c.server...)
			if c.refused == "" && (err != nil || who != c.who) {
				t.Errorf("the server knows %q, %v; want %q", who, err, c.who)
			}
			if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("%v; want that it says %q", err, c.refused)
			}
		})
	}
}

func TestTLSIsOfItsNewestVersion(t *testing.T) {
	dir, _ := keys(t)
	for _, fields := range []string{"", "ca_file: ca.pem", "allowed_names: [a]"} {
		if c := clientOf(t, dir, fields); c.MinVersion != tls.VersionTLS13 || c.InsecureSkipVerify {
			t.Errorf("{%s}: at least version %x, unverified %v", fields, c.MinVersion, c.InsecureSkipVerify)
		}
	}
	c, err := config.Parse([]byte("backends: [{name: a, url: 'https://a', unsigned: true}]"), config.Options{})
	if err != nil || c.Backends[0].ClientConfig().TLSClientConfig.MinVersion != tls.VersionTLS13 {
		t.Errorf("https without tls: %+v, %v", c, err)
	}
}

func TestClientsShareNoConfigurationThatMayChange(t *testing.T) {
	dir, _ := keys(t)
	c, err := config.Parse([]byte(overTLS("ca_file: ca.pem")), config.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c.Backends[0].ClientConfig().TLSClientConfig.InsecureSkipVerify = true
	c.Entries(func(cfg backend.HTTPClientConfig) backend.Backend {
		if cfg.TLSClientConfig.InsecureSkipVerify {
			t.Error("what one did to its configuration, another has")
		}
		return backend.NewMockBackend(backend.MockBackendConfig{Name: cfg.Name})
	})
}

func TestFilesOfTLSThatDoNotServeAreRefused(t *testing.T) {
	dir, ca := keys(t)
	_, otherKey := ca.issue(t, "other")
	put(t, dir, "other-key.pem", otherKey, 0o600)
	put(t, dir, "open-key.pem", otherKey, 0o640)
	put(t, dir, "empty.pem", "no certificate\n", 0o644)
	put(t, dir, "broken.pem", ca.pem+pemOf("CERTIFICATE", []byte("broken")), 0o644)
	put(t, dir, "large.pem", strings.Repeat("#", 1<<20+1), 0o644)
	for fields, want := range map[string][]string{
		"ca_file: none.pem":                                    {"tls.ca_file: ", "no such file"},
		"ca_file: empty.pem":                                   {"tls.ca_file: ", "no certificate in PEM form"},
		"ca_file: broken.pem":                                  {"tls.ca_file: ", "certificate 2 cannot be read"},
		"ca_file: holder-key.pem":                              {"tls.ca_file: ", `a block "PRIVATE KEY"`},
		"ca_file: large.pem":                                   {"tls.ca_file: ", "longer than 1048576 bytes"},
		"cert_file: holder.pem":                                {"tls.cert_file: there is no key_file"},
		"key_file: holder-key.pem":                             {"tls.key_file: there is no cert_file"},
		"cert_file: none.pem, key_file: none-key.pem":          {"tls.cert_file: ", "tls.key_file: "},
		"cert_file: holder.pem, key_file: open-key.pem":        {"tls.key_file: others could read or change the file: it has mode 0640"},
		"cert_file: holder.pem, key_file: other-key.pem":       {"tls.cert_file: certificate and key do not make a pair"},
		"server_name: ''":                                      {"is not the name of a host"},
		"allowed_names: []":                                    {"no name is allowed"},
		"allowed_names: ['*.internal']":                        {"tls.allowed_names[0]: ", "is not the name of a host"},
		"ca_file: none.pem, allowed_names: [''], cert_file: x": {"tls.ca_file: ", "tls.allowed_names[0]: ", "tls.cert_file: "},
	} {
		t.Run(fields, func(t *testing.T) {
			_, err := config.Parse([]byte(overTLS(fields)), config.Options{Dir: dir})
			if !errors.Is(err, config.ErrInvalid) {
				t.Fatalf("it was taken: %v", err)
			}
			for _, text := range want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error does not say %q: %v", text, err)
				}
			}
			if strings.Contains(err.Error(), strings.Split(otherKey, "\n")[1]) {
				t.Errorf("the error shows a key: %v", err)
			}
		})
	}
	_, err := config.Parse([]byte("backends: [{name: a, url: 'http://a', unsigned: true, tls: {server_name: b}}]"), config.Options{})
	if err == nil || !strings.Contains(err.Error(), "backends[0].tls: the url is http") {
		t.Errorf("tls without https: %v", err)
	}
}
