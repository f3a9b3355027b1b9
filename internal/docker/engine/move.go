package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

var _ docker.ImageMover = (*Client)(nil)

// SaveImage implements docker.ImageMover. It lasts as long as ctx allows.
func (c *Client) SaveImage(ctx context.Context, ref string, w io.Writer) error {
	what := "save image " + ref
	img, err := c.Image(ctx, ref) // engines word a missing one in the midst of the archive
	if err != nil {
		return err
	}
	name := askFor(ref)
	if strings.Contains(ref, "@") {
		name = img.ID
	}
	archive, err := c.cli.ImageSave(ctx, []string{name})
	if err != nil {
		return c.failSlow(what, err)
	}
	defer archive.Close()
	out := &outlet{w: w}
	if _, err = io.Copy(out, archive); out.err != nil {
		return fmt.Errorf("%s: %w", what, out.err)
	}
	if err == nil {
		err = ctx.Err() // which ends the archive too
	}
	if err != nil {
		return c.failSlow(what, err)
	}
	return nil
}

// outlet remembers why it could not write.
type outlet struct {
	w   io.Writer
	err error
}

func (o *outlet) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.err = err
	return n, err
}

// LoadImage implements docker.ImageMover. It lasts as long as ctx allows.
func (c *Client) LoadImage(ctx context.Context, r io.Reader) error {
	const what = "load an image"
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	in := &inlet{r: r}
	defer in.shut()
	res, err := c.cli.ImageLoad(ctx, in, client.ImageLoadWithQuiet(true))
	if err != nil {
		return c.failLoad(what, in, err)
	}
	defer res.Close()
	for said := json.NewDecoder(res); ; {
		var m jsonstream.Message
		switch err := said.Decode(&m); {
		case errors.Is(err, io.EOF) && ctx.Err() == nil && in.failure() == nil:
			return nil
		case err != nil:
			return c.failLoad(what, in, errors.Join(err, ctx.Err()))
		case m.Error != nil:
			return c.failLoad(what, in, m.Error)
		}
	}
}

// failLoad tells an archive that could not be read from one that was refused: what the
// engine says of the first is only that it has no end.
func (c *Client) failLoad(what string, in *inlet, err error) error {
	if cause := in.failure(); cause != nil {
		return fmt.Errorf("%s: %w", what, cause)
	}
	return c.failSlow(what, err)
}

// inlet is a request's body that is not read again once it is shut, and that remembers
// why it could not be read.
type inlet struct {
	r    io.Reader
	over atomic.Bool

	mu  sync.Mutex
	err error
}

var errShut = errors.New("the archive was shut")

func (i *inlet) Read(p []byte) (int, error) {
	if i.over.Load() {
		return 0, errShut
	}
	n, err := i.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		i.mu.Lock()
		i.err = err
		i.mu.Unlock()
	}
	return n, err
}

// shut does not wait for a Read that goes on.
func (i *inlet) shut() { i.over.Store(true) }

func (i *inlet) failure() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}
