package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/berth-cloud/berth/internal/reconcile/application"
)

// Config is what an operator decides about a control plane.
type Config struct {
	DataDir string // store, data plane tables and logs
	Socket  string // the API's Unix socket
	// DockerHost is the engine's address; "" takes the engine package's default.
	DockerHost string
	// IngressHTTP are the addresses that the data plane serves HTTP on.
	IngressHTTP []string
	// ExternalIngress says that something else, such as systemd, runs the data
	// plane on our control socket.
	ExternalIngress bool
	// NodeBinary is berth-node; "" looks beside this program.
	NodeBinary string
	// Pool is where app subnets come from, cut into /24s.
	Pool netip.Prefix
	// NetworkPrefix begins the names of networks and volumes.
	NetworkPrefix string
	// AllowHostPaths are the folders of this machine below which services may
	// mount paths; none: no path of the host.
	AllowHostPaths []string
	Workers        int // services worked on at once
	Version        string
	Revision       string
}

// Defaults are what berthd server uses where no flag says otherwise.
func Defaults() Config {
	return Config{
		DataDir: "/var/lib/berth", Socket: "/run/berth/berth.sock", IngressHTTP: []string{":80"},
		Pool: application.DefaultPool, Workers: 8,
	}
}

// ingressDir holds the data plane's own files.
func (c *Config) ingressDir() string { return filepath.Join(c.DataDir, "ingress") }

func (c *Config) controlSocket() string { return filepath.Join(c.ingressDir(), "control.sock") }

// complete checks the configuration and fills in what can be found out.
func (c *Config) complete() error {
	if c.DataDir == "" || c.Socket == "" {
		return errors.New("a data directory and a socket are needed")
	}
	if !c.Pool.IsValid() || !c.Pool.Addr().Is4() || c.Pool.Bits() > 24 {
		return fmt.Errorf("network pool %s: an IPv4 prefix of /24 or larger is needed, 10.210.0.0/16 for example", c.Pool)
	}
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("data directory %s: %w", c.DataDir, err)
	}
	c.DataDir = dir
	if c.Socket, err = filepath.Abs(c.Socket); err != nil {
		return fmt.Errorf("socket %s: %w", c.Socket, err)
	}
	if c.ExternalIngress {
		return nil
	}
	if c.NodeBinary == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find berth-node beside this program: %w", err)
		}
		c.NodeBinary = filepath.Join(filepath.Dir(self), "berth-node")
	}
	if _, err := os.Stat(c.NodeBinary); err != nil {
		return fmt.Errorf("the data plane's program %s cannot be used: %w; install berth-node beside berthd, or name it with --node-binary", c.NodeBinary, err)
	}
	return nil
}
