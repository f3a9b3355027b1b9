package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
)

// Bootstrap is what a machine is told when it is made.
type Bootstrap struct {
	ClusterID        string `json:"cluster_id"`
	Shard            string `json:"shard"`
	InstanceID       string `json:"instance_id"`
	RegistrationAddr string `json:"registration_addr"` // host:port
	AgentAddr        string `json:"agent_addr"`        // of the server's hub
	IngressAddr      string `json:"ingress_addr"`      // of the data plane's; may be empty
}

// parseBootstrap is strict: a key that is not known is a typing mistake.
func parseBootstrap(data []byte) (*Bootstrap, error) {
	var b Bootstrap
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&b)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return nil, fmt.Errorf("%s: it is a JSON %s, and has to be an object", fileBootstrap, wrong.Value)
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("%s: %s is a %s, and has to be a string", fileBootstrap, wrong.Field, wrong.Value)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: it ends before the object does", fileBootstrap)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", fileBootstrap, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: something follows the object", fileBootstrap)
	}
	for _, word := range []struct{ key, value string }{
		{"cluster_id", b.ClusterID}, {"shard", b.Shard}, {"instance_id", b.InstanceID},
	} {
		if word.value == "" {
			return nil, fmt.Errorf("%s: %s is missing", fileBootstrap, word.key)
		}
	}
	for _, a := range []struct {
		key, value string
		optional   bool
	}{
		{"registration_addr", b.RegistrationAddr, false}, {"agent_addr", b.AgentAddr, false}, {"ingress_addr", b.IngressAddr, true},
	} {
		if a.value == "" && a.optional {
			continue
		}
		if host, port, err := net.SplitHostPort(a.value); err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("%s: %s: %q is not a host and a port such as 10.0.0.1:8994", fileBootstrap, a.key, a.value)
		}
	}
	return &b, nil
}
