package docker

import (
	"context"
	"io"
)

// ImageMover is a runtime whose images can be carried to another engine.
type ImageMover interface {
	// SaveImage writes an image as an archive that LoadImage of another engine takes. A
	// tag by which it is named goes with it; by digest or id it has no name in the
	// archive. A missing image is ErrImageNotFound; an error of w is returned. An archive
	// that has no end without an error is refused by LoadImage.
	SaveImage(ctx context.Context, ref string, w io.Writer) error
	// LoadImage takes an archive in and gives its image the tag that goes with it, from
	// whatever had that before. An image that is there already is no error. What is no
	// whole archive is an error, and leaves no image; an error of r is returned. It may
	// leave the end of r unread, and a Read that blocks may outlive the call.
	LoadImage(ctx context.Context, r io.Reader) error
}
