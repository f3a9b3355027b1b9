package daemon

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// anyProgram is a file that can be executed.
func anyProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "berth-node")
	if err := os.WriteFile(path, []byte("#!/bin/true\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAConfigurationThatCannotWorkIsRefusedWithWhatToWrite(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "notes")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*Config)
		want   string // "" is no error
	}{
		"defaults":                  {func(*Config) {}, ""},
		"no data directory":         {func(c *Config) { c.DataDir = "" }, "a data directory and a socket are needed"},
		"no socket":                 {func(c *Config) { c.Socket = "" }, "a data directory and a socket are needed"},
		"pool without a value":      {func(c *Config) { c.Pool = netip.Prefix{} }, "/24 or larger"},
		"pool of IPv6":              {func(c *Config) { c.Pool = netip.MustParsePrefix("fd00::/16") }, "/24 or larger"},
		"pool too small":            {func(c *Config) { c.Pool = netip.MustParsePrefix("10.1.1.0/25") }, "/24 or larger"},
		"pool of one network":       {func(c *Config) { c.Pool = netip.MustParsePrefix("10.1.1.0/24") }, ""},
		"prefix with a blank":       {func(c *Config) { c.NetworkPrefix = "my berth" }, `network prefix "my berth"`},
		"prefix that begins badly":  {func(c *Config) { c.NetworkPrefix = "-a" }, "a letter or digit first"},
		"prefix too long":           {func(c *Config) { c.NetworkPrefix = strings.Repeat("a", 33) }, "up to 32"},
		"prefix":                    {func(c *Config) { c.NetworkPrefix = "stage-2" }, ""},
		"no workers":                {func(c *Config) { c.Workers = 0 }, "at least one"},
		"relative host path":        {func(c *Config) { c.AllowHostPaths = []string{"/srv", "data"} }, `allowed host path "data"`},
		"no address":                {func(c *Config) { c.IngressHTTP = nil }, "no address"},
		"address without a port":    {func(c *Config) { c.IngressHTTP = []string{":80", "8080"} }, `address "8080"`},
		"address of no port":        {func(c *Config) { c.IngressHTTP = []string{":99999"} }, `address ":99999"`},
		"address of another plane":  {func(c *Config) { c.IngressHTTP, c.ExternalIngress = nil, true }, ""},
		"no program":                {func(c *Config) { c.NodeBinary = filepath.Join(dir, "none") }, "name it with --node-binary"},
		"program that is a file":    {func(c *Config) { c.NodeBinary = plain }, "it is not a program"},
		"program that is a folder":  {func(c *Config) { c.NodeBinary = dir }, "it is not a program"},
		"program of somebody else":  {func(c *Config) { c.NodeBinary, c.ExternalIngress = "", true }, ""},
		"program looked for beside": {func(c *Config) { c.NodeBinary = "" }, "berth-node cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Defaults()
			c.NodeBinary = anyProgram(t)
			tt.change(&c)
			switch err := c.complete(); {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestPathsAreMadeAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	c := Defaults()
	c.DataDir, c.Socket, c.NodeBinary = "data", "run/berth.sock", anyProgram(t)
	if err := c.complete(); err != nil {
		t.Fatal(err)
	}
	if c.DataDir != filepath.Join(here, "data") || c.Socket != filepath.Join(here, "run/berth.sock") {
		t.Errorf("data %s, socket %s", c.DataDir, c.Socket)
	}
}
