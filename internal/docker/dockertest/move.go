package dockertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// archived is how the simulated engine writes an image: as one line, then as many bytes
// as the image has, up to a bound, then the end.
type archived struct {
	Image docker.Image
	Ref   string // the tag that goes with it
	Bytes int
}

const (
	maxArchived = 1 << 20
	archiveEnd  = "the end\n"
	// archiveStep is how much of an archive is written at a time.
	archiveStep = 32 << 10
)

// errArchive is what is no whole archive.
var errArchive = errors.New("not a whole archive")

// SaveImage implements docker.ImageMover. A lie, or a failure after the effect, leaves
// the archive in the midst.
func (e *Engine) SaveImage(ctx context.Context, ref string, w io.Writer) error {
	var archive []byte
	err := e.call(ctx, CallSaveImage, ref, func(f *fault) error {
		im, err := e.findImage(ref)
		if err != nil {
			return err
		}
		if e.clock.scripts == nil {
			e.clock.scripts = map[string]Behaviour{}
		}
		e.clock.scripts[im.ID] = im.behaviour
		archive = archiveOf(im, ref)
		if f != nil {
			archive = archive[:len(archive)/2]
		}
		return nil
	})
	for len(archive) > 0 {
		if cerr := ctx.Err(); cerr != nil {
			return fmt.Errorf("save image %q: %w", ref, cerr)
		}
		n := min(len(archive), archiveStep)
		if _, werr := w.Write(archive[:n]); werr != nil {
			return fmt.Errorf("save image %q: %w", ref, werr)
		}
		archive = archive[n:]
	}
	return err
}

func archiveOf(im *image, ref string) []byte {
	a := archived{Image: cloneImage(im.Image), Bytes: int(min(max(im.SizeBytes, 1), maxArchived))}
	a.Image.Tags, a.Image.Digests = nil, nil
	if im.ID != ref && !strings.Contains(ref, "@") && !strings.HasPrefix(ref, "sha256:") {
		a.Ref = normaliseRef(ref)
	}
	head, _ := json.Marshal(a) // of strings and numbers
	return append(append(append(head, '\n'), bytes.Repeat([]byte{'.'}, a.Bytes)...), archiveEnd...)
}

// LoadImage implements docker.ImageMover. What runs from the image behaves as on the
// engine that saved it when both are on one clock.
func (e *Engine) LoadImage(ctx context.Context, r io.Reader) error {
	a, err := readArchive(ctx, r)
	if err != nil {
		err = fmt.Errorf("load an image: %w", err)
	}
	return e.call(ctx, CallLoadImage, a.Ref, func(f *fault) error {
		if err != nil || f.lies() {
			return err
		}
		behaviour := e.clock.scripts[a.Image.ID]
		if known := e.images[a.Image.ID]; known != nil {
			behaviour = known.behaviour
		}
		if a.Ref != "" {
			e.addImage(a.Ref, a.Image, behaviour)
		} else if e.images[a.Image.ID] == nil {
			e.images[a.Image.ID] = &image{cloneImage(a.Image), behaviour}
		}
		e.recordObject(DidLoadImage, a.Image.ID, nil)
		return nil
	})
}

func readArchive(ctx context.Context, r io.Reader) (a archived, err error) {
	var all bytes.Buffer
	if _, err := io.Copy(&all, io.LimitReader(r, 2*maxArchived)); err != nil {
		return a, err
	}
	if err := ctx.Err(); err != nil {
		return a, err
	}
	head, rest, _ := bytes.Cut(all.Bytes(), []byte{'\n'})
	if err := json.Unmarshal(head, &a); err != nil {
		return a, fmt.Errorf("%w: %w", errArchive, err)
	}
	if len(rest) != a.Bytes+len(archiveEnd) || !bytes.HasSuffix(rest, []byte(archiveEnd)) {
		return a, errArchive
	}
	return a, nil
}
