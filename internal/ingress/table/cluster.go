package table

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Cluster is what the data plane needs to be the end of connections that the agents of
// nodes open: where it listens, who it is, whom it believes. PUT /v1/cluster on the
// control socket replaces it, and is answered with a [ClusterAck] once it is on disk and
// in use. It is printed, and marshalled by package json, without its key; see
// [EncodeCluster].
type Cluster struct {
	Protocol int `json:"protocol"`
	// Version grows with every change. A push of a lower one is refused, of the same one
	// with the same content it is acknowledged again.
	Version int64 `json:"version"`
	// Listen is the address for agents, host:port; "" is that there are no nodes, and
	// then nothing else but the version counts.
	Listen      string     `json:"listen"`
	Certificate string     `json:"certificate"` // of the role ingress, PEM
	Key         PrivateKey `json:"key"`         // PKCS #8, PEM
	Roots       string     `json:"roots"`       // the cluster's authorities, PEM
	// Denied are the serial numbers of certificates that hold no more, in lower-case
	// hexadecimal.
	Denied []string `json:"denied"`
}

// Bounds of a cluster's credentials, in bytes and in serial numbers.
const (
	MaxPEM          = 256 << 10
	MaxDenied       = 100_000
	MaxClusterBytes = 16 << 20 // what EncodeCluster writes
	maxSerial       = 64
)

// ClusterAck says that a cluster is on disk and in use.
type ClusterAck struct {
	Epoch   string `json:"epoch"`
	Version int64  `json:"version"`
	Address string `json:"address"` // at which agents are taken; "" when there are no nodes
}

// ClusterReport is what the data plane knows of nodes.
type ClusterReport struct {
	Version int64  `json:"version"`
	Address string `json:"address,omitempty"` // at which agents are taken
	Error   string `json:"error,omitempty"`   // why they are not
	// Nodes are those that are connected, by id; of more than MaxReportedNodes, More
	// says how many are left out.
	Nodes []NodeReport `json:"nodes"`
	More  int          `json:"more,omitempty"`
}

// MaxReportedNodes bounds the nodes in a report.
const MaxReportedNodes = 1000

// NodeReport is one node that is connected.
type NodeReport struct {
	ID     string    `json:"id"`
	Remote string    `json:"remote"` // where its agent connects from
	Since  time.Time `json:"since"`
}

// Validate checks a cluster by itself, but for what is in its PEM. Errors wrap
// [ErrProtocol] or [ErrInvalid].
func (c *Cluster) Validate() error {
	if c.Protocol != Protocol {
		return fmt.Errorf("%w: the cluster speaks protocol %d, this data plane %d", ErrProtocol, c.Protocol, Protocol)
	}
	if c.Version < 1 {
		return fmt.Errorf("%w: version %d; versions start at 1", ErrInvalid, c.Version)
	}
	if c.Listen == "" {
		return nil
	}
	if err := validListen(c.Listen); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for what, size := range map[string]int{"certificate": len(c.Certificate), "key": c.Key.Len(), "roots": len(c.Roots)} {
		if size == 0 || size > MaxPEM {
			return fmt.Errorf("%w: the %s has %d bytes; it is between 1 and %d", ErrInvalid, what, size, MaxPEM)
		}
	}
	if len(c.Denied) > MaxDenied {
		return fmt.Errorf("%w: %d denied certificates; at most %d", ErrInvalid, len(c.Denied), MaxDenied)
	}
	for _, s := range c.Denied {
		if !validSerial(s) {
			return fmt.Errorf("%w: denied serial number %.80q; it is up to %d lower-case hexadecimal digits", ErrInvalid, s, maxSerial)
		}
	}
	return nil
}

func validListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address for agents %.80q: it is host:port", address)
	}
	if _, err := netip.ParseAddr(host); host != "" && err != nil {
		return fmt.Errorf("address for agents %.80q: the host is an IP address or empty", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("address for agents %.80q: the port is a number up to 65535", address)
	}
	return nil
}

func validSerial(s string) bool {
	if s == "" || len(s) > maxSerial {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// wireCluster is a cluster with its key.
type wireCluster struct {
	Cluster
	Key string `json:"key"`
}

// EncodeCluster writes a cluster for the socket or the disk, the key included.
func EncodeCluster(c Cluster) ([]byte, error) {
	return json.Marshal(wireCluster{Cluster: c, Key: c.Key.Reveal()})
}

// DecodeCluster reads what EncodeCluster wrote. Of another protocol it reads no more than
// which. Errors wrap [ErrProtocol] or [ErrInvalid], and quote nothing of data.
func DecodeCluster(data []byte) (Cluster, error) {
	var head struct {
		Protocol int `json:"protocol"`
	}
	if json.Unmarshal(data, &head) != nil {
		return Cluster{}, fmt.Errorf("%w: the cluster is no JSON object", ErrInvalid)
	}
	if head.Protocol != Protocol {
		return Cluster{}, fmt.Errorf("%w: the cluster speaks protocol %d, this data plane %d; restart whichever is older with the newer build", ErrProtocol, head.Protocol, Protocol)
	}
	var w wireCluster
	if json.Unmarshal(data, &w) != nil {
		return Cluster{}, fmt.Errorf("%w: the cluster has fields of another type", ErrInvalid)
	}
	c := w.Cluster
	c.Key = NewPrivateKey(w.Key)
	return c, nil
}

// Same says that two clusters are one in all but their version.
func (c *Cluster) Same(o *Cluster) bool {
	if c.Listen != o.Listen || c.Certificate != o.Certificate || c.Roots != o.Roots || !c.Key.Equal(o.Key) || len(c.Denied) != len(o.Denied) {
		return false
	}
	for i := range c.Denied {
		if c.Denied[i] != o.Denied[i] {
			return false
		}
	}
	return true
}
