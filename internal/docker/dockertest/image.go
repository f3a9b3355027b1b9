package dockertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// image is one image on the engine with the script of its containers.
type image struct {
	docker.Image
	behaviour Behaviour
}

// AddImage puts an image on the engine and moves ref to it; what ref named
// before stays reachable by its id. An empty id is derived from ref and the
// number of images; architecture and OS default to the engine's. It returns
// the image as the engine knows it.
func (e *Engine) AddImage(ref string, im docker.Image, b Behaviour) docker.Image {
	e.clock.lock()
	defer e.clock.unlock()
	return e.addImage(ref, im, b)
}

func (e *Engine) addImage(ref string, im docker.Image, b Behaviour) docker.Image {
	ref = normaliseRef(ref)
	if im.ID == "" {
		im.ID = "sha256:" + e.newID("image "+ref)
	}
	if im.Architecture == "" {
		im.Architecture = e.info.Architecture
	}
	if im.OS == "" {
		im.OS = e.info.OS
	}
	if old := e.refs[ref]; old != nil && old.ID != im.ID {
		old.Tags = slices.DeleteFunc(slices.Clone(old.Tags), func(t string) bool { return t == ref })
	}
	im.Tags, im.Digests = slices.Clone(im.Tags), slices.Clone(im.Digests)
	if known := e.images[im.ID]; known != nil {
		im.Tags = append(im.Tags, known.Tags...)
		im.Digests = append(im.Digests, known.Digests...)
	}
	if strings.Contains(ref, "@") {
		im.Digests = append(im.Digests, ref)
	} else {
		im.Tags = append(im.Tags, ref)
	}
	im.Tags, im.Digests = compact(im.Tags), compact(im.Digests)
	stored := &image{im, b}
	e.images[im.ID] = stored
	for _, name := range append(slices.Clone(im.Tags), im.Digests...) {
		e.refs[normaliseRef(name)] = stored
	}
	return cloneImage(im)
}

// RemoveImage takes a reference away, and the image with its last one.
// Containers made from it go on.
func (e *Engine) RemoveImage(ref string) {
	e.clock.lock()
	defer e.clock.unlock()
	im, err := e.findImage(ref)
	if err != nil {
		return
	}
	for name, o := range e.refs {
		if o == im && (name == normaliseRef(ref) || im.ID == ref) {
			delete(e.refs, name)
			im.Tags = slices.DeleteFunc(slices.Clone(im.Tags), func(t string) bool { return t == name })
		}
	}
	if len(im.Tags) == 0 {
		delete(e.images, im.ID)
		for name, o := range e.refs {
			if o == im {
				delete(e.refs, name)
			}
		}
	}
}

// Image implements docker.Runtime.
func (e *Engine) Image(ctx context.Context, ref string) (out *docker.Image, err error) {
	err = e.call(ctx, CallImage, ref, func(f *fault) error {
		im, err := e.findImage(ref)
		if err != nil {
			return err
		}
		if f.lies() {
			return fmt.Errorf("image %q: %w", ref, docker.ErrImageNotFound)
		}
		cp := cloneImage(im.Image)
		out = &cp
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// findImage looks an image up by id, tag or digest reference. A reference with
// tag and digest is looked up by its digest, as engines do.
func (e *Engine) findImage(ref string) (*image, error) {
	if im := e.images[ref]; im != nil {
		return im, nil
	}
	if im := e.refs[normaliseRef(ref)]; im != nil {
		return im, nil
	}
	if h, ok := strings.CutPrefix(ref, "sha256:"); !ok {
		if im := e.images["sha256:"+h]; im != nil {
			return im, nil
		}
	}
	return nil, fmt.Errorf("image %q: %w", ref, docker.ErrImageNotFound)
}

// normaliseRef gives a reference its short canonical form: no docker.io/library,
// a tag or a digest always, never both.
func normaliseRef(ref string) string {
	ref = strings.TrimPrefix(ref, "docker.io/")
	ref = strings.TrimPrefix(ref, "library/")
	name, digest, byDigest := strings.Cut(ref, "@")
	slash := strings.LastIndex(name, "/")
	colon := strings.LastIndex(name, ":")
	if byDigest {
		if colon > slash {
			name = name[:colon]
		}
		return name + "@" + digest
	}
	if colon > slash {
		return name
	}
	return name + ":latest"
}

func cloneImage(im docker.Image) docker.Image {
	im.Digests, im.Tags, im.ExposedPorts = slices.Clone(im.Digests), slices.Clone(im.Tags), slices.Clone(im.ExposedPorts)
	im.Volumes = slices.Clone(im.Volumes)
	return im
}

func compact(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// digestOf derives a digest from text, for images that bring none.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}
