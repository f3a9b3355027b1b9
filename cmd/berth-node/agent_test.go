package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnAgentWithoutItsFolderSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		make, says string
		code       int
	}{
		{"", "bootstrap.json", exitError},
		{"bootstrap.json", "cluster_id", exitError},
	} {
		if c.make != "" {
			if err := os.WriteFile(filepath.Join(dir, c.make), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var stderr bytes.Buffer
		if code := run(t.Context(), []string{"agent", "--dir", dir}, &stderr, &stderr); code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("code %d: %s", code, stderr.String())
		}
	}
}

func TestTheEngineOfAnAgentIsASocketOfItsMachine(t *testing.T) {
	for _, address := range []string{"tcp://10.0.0.1:2375", "/var/run/docker.sock", "unix://docker.sock", ""} {
		var stderr bytes.Buffer
		if code := run(t.Context(), []string{"agent", "--docker", address}, &stderr, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "unix:///var/run/docker.sock") {
			t.Errorf("%q: code %d: %s", address, code, stderr.String())
		}
	}
}
