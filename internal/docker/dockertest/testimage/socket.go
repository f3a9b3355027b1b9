package testimage

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	// EnvRequire turns the skip for want of an engine into a failure.
	EnvRequire = "BERTH_TEST_DOCKER"
	// EnvSocket names another socket than the usual one.
	EnvSocket = "BERTH_TEST_DOCKER_SOCKET"

	defaultSocket = "/var/run/docker.sock"
	dialTimeout   = 2 * time.Second
)

// Socket returns the path of the engine's socket. Without an engine it skips
// the test and says why, or fails it when EnvRequire is 1. A short run leaves
// out what needs an engine.
func Socket(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Docker engine, and this is a short run")
	}
	path := strings.TrimPrefix(os.Getenv(EnvSocket), "unix://")
	if path == "" {
		path = defaultSocket
	}
	conn, err := net.DialTimeout("unix", path, dialTimeout)
	if err == nil {
		conn.Close()
		return path
	}
	if os.Getenv(EnvRequire) == "1" {
		t.Fatalf("no Docker engine, and %s=1 demands one: %v", EnvRequire, err)
	}
	t.Skipf("no Docker engine: %v", err)
	return ""
}
