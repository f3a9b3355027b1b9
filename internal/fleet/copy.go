package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// errNoSource: no node that has the image can hand it to this one.
var errNoSource = errors.New("no node can hand it over")

// progressEvery is how many bytes go over between two steps of progress.
const progressEvery = 4 << 20

// carry copies an image to a node from the first that can hand it over.
func (f *Fleet) carry(ctx context.Context, r *roll, want *wanted, ref, to string, progress func(docker.PullProgress)) error {
	rt, err := f.engine(to)
	if err != nil {
		return err
	}
	if img, err := rt.Image(ctx, want.ID); err == nil && (moved(ref, want.ID) == want.ID || tagged(ctx, rt, ref, img.ID)) {
		return nil // another pass brought it
	}
	dst, ok := rt.(docker.ImageMover)
	if !ok {
		return fmt.Errorf("%s takes no copies: %w", called(to), errNoSource)
	}
	if err := f.fits(ctx, rt, to, want); err != nil {
		return err
	}
	failed := errNoSource
	sources := slices.Clone(want.nodes)
	slices.Sort(sources)
	for _, from := range sources {
		if r.stands(from) != online || from == to {
			continue
		}
		at, err := f.engine(from)
		if err != nil {
			continue
		}
		src, ok := at.(docker.ImageMover)
		if !ok {
			continue
		}
		if failed = f.copyImage(ctx, src, dst, from, to, ref, want, progress); failed == nil || ctx.Err() != nil {
			return failed
		}
	}
	return failed
}

func tagged(ctx context.Context, rt docker.Runtime, ref, id string) bool {
	img, err := rt.Image(ctx, ref)
	return err == nil && img.ID == id
}

// fits refuses an image that the node's programs could not be run from.
func (f *Fleet) fits(ctx context.Context, rt docker.Runtime, id string, want *wanted) error {
	info, err := rt.Info(ctx)
	if err != nil {
		return told(id, err)
	}
	if want.Architecture != "" && info.Architecture != "" && want.Architecture != info.Architecture {
		return fmt.Errorf("image %s is for %s and %s is %s: %w", want.ID, want.Architecture, called(id), info.Architecture, errNoSource)
	}
	return nil
}

// copyImage streams it from one engine to the other and looks at what arrived.
func (f *Fleet) copyImage(ctx context.Context, src, dst docker.ImageMover, from, to, ref string, want *wanted, progress func(docker.PullProgress)) error {
	name := moved(ref, want.ID)
	f.o.Logger.InfoContext(ctx, "an image is copied", "image", ref, "id", want.ID, "from", from, "to", to)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	saved := make(chan error, 1)
	go func() {
		err := src.SaveImage(ctx, name, &counted{w: w, want: want, to: to, progress: progress})
		w.CloseWithError(err) // nil is the end of the archive
		saved <- err
	}()
	err := dst.LoadImage(ctx, r)
	r.CloseWithError(io.ErrClosedPipe) // who still writes need not
	if err != nil {
		cancel()
	}
	// A save that only found nobody reading any more says nothing; any other failure of
	// it is why the load failed, or was not told to the load.
	if serr := <-saved; serr != nil && !errors.Is(serr, io.ErrClosedPipe) && (err == nil || !errors.Is(serr, context.Canceled)) {
		err = serr
	}
	if err != nil {
		return fmt.Errorf("copy image %s from %s to %s: %w", ref, called(from), called(to), err)
	}
	return f.arrived(ctx, to, name, ref, want)
}

// arrived holds what a node has now against what it should have.
func (f *Fleet) arrived(ctx context.Context, to, name, ref string, want *wanted) error {
	rt, err := f.engine(to)
	if err != nil {
		return err
	}
	img, err := rt.Image(ctx, name)
	switch {
	case docker.IsImageNotFound(err) || err == nil && img.ID != want.ID:
		return fmt.Errorf("image %s was copied to %s, which does not know it as %s; see that all engines keep their images in one way: %w",
			ref, called(to), want.ID, docker.ErrConflict)
	case err != nil:
		return told(to, err)
	}
	return nil
}

// counted passes bytes on and tells how many went by.
type counted struct {
	w        io.Writer
	want     *wanted
	to       string
	progress func(docker.PullProgress)
	n, told  int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	if c.progress != nil && (c.told == 0 || c.n-c.told >= progressEvery) {
		c.told = c.n
		layer, _ := strings.CutPrefix(c.want.ID, "sha256:")
		c.progress(docker.PullProgress{
			Layer: layer[:min(12, len(layer))], Status: "Copying to " + called(c.to), Current: c.n, Total: max(c.want.SizeBytes, c.n),
		})
	}
	return n, err
}

type copyKey struct{ node, image string }

// copying is a copy that no caller waits for.
type copying struct {
	done bool
	err  error
}

// copyTime bounds such a copy.
const copyTime = 10 * time.Minute

// bring starts to copy an image that a container is to be made from to its node. It
// returns docker.ErrUnavailable while that goes on, why the last try failed, once, and
// nil when no node has the image.
func (f *Fleet) bring(r *roll, to, image string) error {
	key := copyKey{to, image}
	f.mu.Lock()
	c := f.copies[key]
	if c != nil && c.done {
		delete(f.copies, key)
	}
	f.mu.Unlock()
	if c != nil && c.err != nil {
		if errors.Is(c.err, errNoSource) {
			return nil
		}
		return c.err
	}
	ctx, cancel := context.WithTimeout(f.ctx, f.o.Patience)
	defer cancel()
	want, err := f.source(ctx, r, []string{to}, image)
	if err != nil || want == nil {
		return nil //nolint:nilerr // the engine's own answer says what is missing
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.copies[key] == nil && f.ctx.Err() == nil {
		c := &copying{}
		f.copies[key] = c
		f.wg.Go(func() {
			ctx, cancel := context.WithTimeout(f.ctx, copyTime)
			defer cancel()
			err := f.carry(ctx, r, want, image, to, nil)
			f.mu.Lock()
			defer f.mu.Unlock()
			if c.done, c.err = true, err; err == nil {
				delete(f.copies, key)
			}
		})
	}
	return fmt.Errorf("image %s is being copied there from %s: %w", image, called(want.nodes[0]), docker.ErrUnavailable)
}
