package testimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// layerTar holds the program and a /tmp that anyone may write.
func layerTar(t testing.TB, name string, binary []byte) []byte {
	t.Helper()
	return writeTar(t,
		tarEntry{tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil},
		tarEntry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755}, binary},
	)
}

type tarEntry struct {
	header tar.Header
	data   []byte
}

func writeTar(t testing.TB, entries ...tarEntry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		e.header.Size = int64(len(e.data))
		if err := w.WriteHeader(&e.header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func compress(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func configFile(t testing.TB, config v1.Config, layerDigest string) []byte {
	t.Helper()
	diffID, err := v1.NewHash(layerDigest)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Config: config,
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{diffID}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// archive is the image as engines load it.
func (b *Built) archive(t testing.TB, ref string) []byte {
	t.Helper()
	manifest, err := json.Marshal([]map[string]any{{
		"Config": "config.json", "RepoTags": []string{ref}, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }
	return writeTar(t,
		tarEntry{file("manifest.json"), manifest},
		tarEntry{file("config.json"), b.config},
		tarEntry{file("layer.tar"), b.layer},
	)
}
