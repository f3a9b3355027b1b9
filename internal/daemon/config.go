package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

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
	// Machines is the file that says which machines there shall be; "": none.
	Machines string
	Version  string
	Revision string
}

// Defaults are what berthd server uses where no flag says otherwise.
func Defaults() Config {
	return Config{
		DataDir: "/var/lib/berth", Socket: runDir + "/berth.sock", IngressHTTP: []string{":80"},
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
	if c.Machines != "" {
		if c.Machines, err = filepath.Abs(c.Machines); err != nil {
			return fmt.Errorf("file of machines %s: %w", c.Machines, err)
		}
	}
	if err := c.checkNames(); err != nil {
		return err
	}
	if c.ExternalIngress {
		return nil
	}
	if err := checkAddresses(c.IngressHTTP); err != nil {
		return err
	}
	return c.findNode()
}

// networkPrefix is what the engine takes as the beginning of a name.
var networkPrefix = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,31}$`)

func (c *Config) checkNames() error {
	if c.NetworkPrefix != "" && !networkPrefix.MatchString(c.NetworkPrefix) {
		return fmt.Errorf("network prefix %q: write up to 32 letters, digits, dashes, dots and underscores, a letter or digit first", c.NetworkPrefix)
	}
	if c.Workers < 1 {
		return fmt.Errorf("%d workers: at least one is needed", c.Workers)
	}
	for _, p := range c.AllowHostPaths {
		if !filepath.IsAbs(p) {
			return fmt.Errorf("allowed host path %q: write it from the root, /srv/data for example", p)
		}
	}
	return nil
}

// checkAddresses looks at what the data plane shall listen on, so that a
// mistyped one ends us at once and is not tried again and again.
func checkAddresses(addresses []string) error {
	if len(addresses) == 0 {
		return errors.New("no address to serve HTTP on: write one, :80 for example")
	}
	for _, a := range addresses {
		_, port, err := net.SplitHostPort(a)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return fmt.Errorf("address %q to serve HTTP on: write host:port or :port, :80 for example", a)
		}
	}
	return nil
}

// findNode finds the data plane's program.
func (c *Config) findNode() error {
	if c.NodeBinary == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find berth-node beside this program: %w", err)
		}
		c.NodeBinary = filepath.Join(filepath.Dir(self), "berth-node")
	}
	info, err := os.Stat(c.NodeBinary)
	if err == nil && (!info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0) {
		err = errors.New("it is not a program")
	}
	if err != nil {
		return fmt.Errorf("the data plane's program %s cannot be used: %w; install berth-node beside berthd, or name it with --node-binary", c.NodeBinary, err)
	}
	return nil
}
