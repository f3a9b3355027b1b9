package testimage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// An Option makes another image of the same program. Every set of options has
// an image id of its own.
type Option func(*v1.Config)

// Env sets an environment variable in the image.
func Env(name, value string) Option {
	return func(c *v1.Config) { c.Env = append(c.Env, name+"="+value) }
}

// Label sets a label of the image.
func Label(name, value string) Option {
	return func(c *v1.Config) {
		c.Labels = maps.Clone(c.Labels)
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		c.Labels[name] = value
	}
}

// Expose declares a port, as in "8080/tcp".
func Expose(port string) Option {
	return func(c *v1.Config) {
		c.ExposedPorts = maps.Clone(c.ExposedPorts)
		if c.ExposedPorts == nil {
			c.ExposedPorts = map[string]struct{}{}
		}
		c.ExposedPorts[port] = struct{}{}
	}
}

// Config changes anything else.
func Config(change func(*v1.Config)) Option { return change }

// spec is what an image is made of, before it is made.
type spec struct {
	program program
	config  v1.Config
}

// newSpec starts from the program's image.json, a v1.Config, when there is one.
func newSpec(t testing.TB, name string, opts []Option) spec {
	t.Helper()
	s := spec{program: findProgram(t, name)}
	data, err := os.ReadFile(filepath.Join(s.program.dir, "image.json"))
	if err == nil {
		err = json.Unmarshal(data, &s.config)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("test image %s: image.json: %v", name, err)
	}
	if len(s.config.Entrypoint) == 0 {
		s.config.Entrypoint = []string{"/" + name}
	}
	for _, opt := range opts {
		opt(&s.config)
	}
	return s
}

// ref names the image by all that it is made of.
func (s spec) ref(t testing.TB) string {
	t.Helper()
	config, err := json.Marshal(s.config)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(append([]byte(s.program.hash+"\n"), config...))
	return "berth-test/" + s.program.name + ":" + hex.EncodeToString(sum[:])[:16]
}

// Built is one image outside any engine: a configuration and one layer. The
// same program and options give the same bytes.
type Built struct {
	config  []byte
	layer   []byte // tar
	gzipped []byte // the layer as registries keep it
}

// Image makes the image of a program without an engine, to push it to a
// registry.
func Image(t testing.TB, name string, opts ...Option) *Built {
	t.Helper()
	return newSpec(t, name, opts).build(t)
}

// ID is the image's id on any engine, "sha256:…".
func (b *Built) ID() string { return digest(b.config) }

func (s spec) build(t testing.TB) *Built {
	t.Helper()
	b := &Built{layer: layerTar(t, s.program.name, s.program.binary(t))}
	b.gzipped = compress(t, b.layer)
	b.config = configFile(t, s.config, digest(b.layer))
	return b
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
