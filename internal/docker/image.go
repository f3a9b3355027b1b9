package docker

import (
	"context"
	"io"
)

// ImageMover is a runtime whose images can be carried to another engine.
type ImageMover interface {
	// SaveImage writes an image as an archive that LoadImage of another engine takes. A
	// tag by which it is named goes with it; by digest or id it has no name in the
	// archive. A missing image is ErrImageNotFound. After an error what was written is
	// no whole archive.
	SaveImage(ctx context.Context, ref string, w io.Writer) error
	// LoadImage takes an archive in and gives its image the tag that goes with it, from
	// whatever had that before. An image that is there already is no error. What is no
	// whole archive is an error, and leaves no image. It reads r to its end, unless it
	// fails.
	LoadImage(ctx context.Context, r io.Reader) error
}
