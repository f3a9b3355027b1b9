package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// buildImages puts the suite's program into an image for each version, made of
// one file system, and removes them with the test. It returns the program.
func buildImages(t *testing.T, socket, repo string, versions ...string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", file, "../providertest/script/program")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the suite's program: %v\n%s", err, out)
	}
	program, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	layer := fileSystem(t, program)
	for _, version := range versions {
		query := url.Values{
			"fromSrc": {"-"}, "repo": {repo}, "tag": {version},
			"changes": {"ENV VERSION=" + version, `ENTRYPOINT ["/program"]`, `CMD ["listen:8080","wait"]`},
		}
		engineCall(t, socket, http.MethodPost, "/v1.41/images/create?"+query.Encode(), bytes.NewReader(layer))
		t.Cleanup(func() { engineCall(t, socket, http.MethodDelete, "/v1.41/images/"+repo+":"+version+"?force=1", nil) })
	}
	return program
}

// fileSystem is what the program finds in its container.
func fileSystem(t *testing.T, program []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range []*tar.Header{
		{Name: "program", Mode: 0o755, Size: int64(len(program)), Typeflag: tar.TypeReg},
		{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir},
		{Name: "etc/", Mode: 0o755, Typeflag: tar.TypeDir},
	} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(program); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// engineCall makes a call that no Runtime has.
func engineCall(t *testing.T, socket, method, path string, body io.Reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || res.StatusCode >= http.StatusBadRequest {
		t.Fatal(fmt.Errorf("%s %s: %s: %s %w", method, path, res.Status, text, err))
	}
}
