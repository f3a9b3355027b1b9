package testimage

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const (
	manifestType = "application/vnd.docker.distribution.manifest.v2+json"
	configType   = "application/vnd.docker.container.image.v1+json"
	layerType    = "application/vnd.docker.image.rootfs.diff.tar.gzip"

	pushTimeout = 30 * time.Second
)

type descriptor struct {
	MediaType string `json:"mediaType"`
	Size      int    `json:"size"`
	Digest    string `json:"digest"`
}

// Push stores an image under a repository and tag, as in "team/app:1", and
// returns the full reference and the manifest's digest.
func (r *RegistryServer) Push(t testing.TB, repoTag string, img *Built) (ref, manifestDigest string) {
	t.Helper()
	repo, tag, ok := strings.Cut(repoTag, ":")
	if !ok {
		tag = "latest"
	}
	manifest, err := json.Marshal(struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}{
		2, manifestType,
		descriptor{configType, len(img.config), digest(img.config)},
		[]descriptor{{layerType, len(img.gzipped), digest(img.gzipped)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range [][]byte{img.config, img.gzipped} {
		r.send(t, http.MethodPost, "/v2/"+repo+"/blobs/uploads/?digest="+url.QueryEscape(digest(blob)), "application/octet-stream", blob)
	}
	r.send(t, http.MethodPut, "/v2/"+repo+"/manifests/"+tag, manifestType, manifest)
	return r.Host + "/" + repo + ":" + tag, digest(manifest)
}

func (r *RegistryServer) send(t testing.TB, method, path, contentType string, body []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), pushTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.Host+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	if r.Username != "" {
		req.SetBasicAuth(r.Username, r.Password)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		t.Fatalf("push: %v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		t.Fatalf("push: %s %s: %s: %s", method, path, resp.Status, said)
	}
}
