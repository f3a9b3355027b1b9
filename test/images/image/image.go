package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"runtime"
	"slices"
	"time"
)

// programPath is where the program lies in every image.
const programPath = "/program"

// Config is what sets one image of a program apart from another.
type Config struct {
	Env    map[string]string
	Labels map[string]string
	// Volumes are directories that the image declares as such.
	Volumes []string
}

// Image is an image of one layer, ready to be loaded.
type Image struct {
	layer  []byte // the uncompressed tar
	config []byte // the image's configuration; its hash is the image id
}

// ID is the image id, "sha256:" and the hash of the configuration.
func (i *Image) ID() string { return "sha256:" + digest(i.config) }

// Assemble makes an image that runs the program.
func Assemble(binary []byte, c Config) (*Image, error) {
	layer, err := pack([]file{{programPath[1:], 0o755, binary}})
	if err != nil {
		return nil, err
	}
	type running struct {
		Entrypoint []string          `json:"Entrypoint"`
		Env        []string          `json:"Env,omitempty"`
		Labels     map[string]string `json:"Labels,omitempty"`

		Volumes map[string]struct{} `json:"Volumes,omitempty"`
	}
	type rootfs struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
	run := running{Entrypoint: []string{programPath}, Labels: c.Labels}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		run.Env = append(run.Env, name+"="+c.Env[name])
	}
	for _, dir := range c.Volumes {
		if run.Volumes == nil {
			run.Volumes = map[string]struct{}{}
		}
		run.Volumes[dir] = struct{}{}
	}
	config, err := json.Marshal(struct {
		Created      time.Time `json:"created"`
		Architecture string    `json:"architecture"`
		OS           string    `json:"os"`
		Config       running   `json:"config"`
		RootFS       rootfs    `json:"rootfs"`
	}{time.Unix(0, 0).UTC(), runtime.GOARCH, "linux", run, rootfs{"layers", []string{"sha256:" + digest(layer)}}})
	if err != nil {
		return nil, err
	}
	return &Image{layer, config}, nil
}

// archive is the image in the form that an engine's load takes, under ref.
func (i *Image) archive(ref string) (io.Reader, error) {
	const layer = "layer.tar"
	config := digest(i.config) + ".json"
	manifest, err := json.Marshal([]any{map[string]any{"Config": config, "RepoTags": []string{ref}, "Layers": []string{layer}}})
	if err != nil {
		return nil, err
	}
	content, err := pack([]file{{"manifest.json", 0o644, manifest}, {config, 0o644, i.config}, {layer, 0o644, i.layer}})
	return bytes.NewReader(content), err
}

type file struct {
	name    string
	mode    int64
	content []byte
}

// pack makes a tar whose bytes depend on the files alone.
func pack(files []file) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)),
			ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
		})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buf.Bytes(), err
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
