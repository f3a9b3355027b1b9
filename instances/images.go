package instances

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/localdb"
)

// ImageFinder finds images at a provider.
type ImageFinder interface {
	// FindImages returns those that fit all filters and belong to one of the owners.
	FindImages(ctx context.Context, filters map[string][]string, owners []string) ([]FoundImage, error)
}

// FoundImage is an image that a provider has.
type FoundImage struct {
	ID, Name  string
	CreatedAt time.Time
}

// ImageResolverOptions are what an ImageResolver is made of.
type ImageResolverOptions struct {
	// ConfigLoader says which images there are; required.
	ConfigLoader *config.Loader
	// Finder is nil for a provider without one: only ids and fallbacks count then.
	Finder ImageFinder
	// Cache keeps what was found over a restart; nil keeps nothing.
	Cache  *localdb.DB
	Clock  func() time.Time // nil is the system's
	Logger *slog.Logger     // nil is nowhere
}

// ImageResolver knows what the names of images mean: the id that the configuration
// gives, else what was found last, else what was found before a restart, else the
// fallback. GetAll asks nobody; Refresh does, and is called every image_refresh.
type ImageResolver struct {
	opts  ImageResolverOptions
	found atomic.Pointer[map[string]string]
}

var _ ImageGetter = (*ImageResolver)(nil)

// NewImageResolver makes a resolver that has found nothing yet, but for what is cached.
func NewImageResolver(ctx context.Context, opts ImageResolverOptions) (*ImageResolver, error) {
	if opts.ConfigLoader == nil {
		return nil, fmt.Errorf("new image resolver: %w: ConfigLoader is missing", ErrInvalidRequest)
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	found := map[string]string{}
	if opts.Cache != nil {
		all, err := opts.Cache.Images(ctx)
		if err != nil {
			opts.Logger.WarnContext(ctx, "the cached images could not be read", "error", err)
		}
		for _, one := range all {
			found[one.Name] = one.ImageID
		}
	}
	r := &ImageResolver{opts: opts}
	r.found.Store(&found)
	return r, nil
}

// GetAll returns the ids of all images of the configuration that have one.
func (r *ImageResolver) GetAll() map[string]string {
	conf := r.opts.ConfigLoader.Current()
	if conf == nil {
		return map[string]string{}
	}
	all := fixedImages(conf.Images)
	found := *r.found.Load()
	for name, image := range conf.Images {
		if image.ID == "" && found[name] != "" {
			all[name] = found[name]
		}
	}
	return all
}

// Refresh finds the images of the configuration that have filters. One that cannot be
// found keeps what it meant; all that failed is returned.
func (r *ImageResolver) Refresh(ctx context.Context) error {
	conf := r.opts.ConfigLoader.Current()
	if conf == nil || r.opts.Finder == nil {
		return nil
	}
	next := maps.Clone(*r.found.Load())
	var failed error
	for _, name := range slices.Sorted(maps.Keys(conf.Images)) {
		image := conf.Images[name]
		if image.ID != "" || len(image.Filters) == 0 {
			continue
		}
		found, err := r.opts.Finder.FindImages(ctx, image.Filters, image.Owners)
		if err == nil && len(found) == 0 {
			err = errors.New("nothing fits its filters")
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("find image %s: %w", name, err))
			continue
		}
		next[name] = pick(image, found).ID
		if r.opts.Cache != nil {
			if err := r.opts.Cache.SaveImage(ctx, localdb.Image{Name: name, ImageID: next[name], ResolvedAt: r.opts.Clock().UTC()}); err != nil {
				r.opts.Logger.WarnContext(ctx, "an image could not be cached", "image", name, "error", err)
			}
		}
	}
	r.found.Store(&next)
	return failed
}

// pick is the first in the order that the configuration names; ids decide between
// equals, so that the same images give the same one.
func pick(image config.Image, found []FoundImage) FoundImage {
	return slices.MinFunc(found, func(a, b FoundImage) int {
		order := a.CreatedAt.Compare(b.CreatedAt)
		if image.Sort == "name" {
			order = cmp.Compare(a.Name, b.Name)
		}
		if image.Order != "asc" {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.ID, b.ID))
	})
}

// fixedImages are those of which nobody has to be asked.
func fixedImages(images map[string]config.Image) map[string]string {
	all := map[string]string{}
	for name, image := range images {
		if id := cmp.Or(image.ID, image.Fallback); id != "" {
			all[name] = id
		}
	}
	return all
}
