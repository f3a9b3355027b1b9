package engine

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// Image implements docker.Runtime.
func (c *Client) Image(ctx context.Context, ref string) (*docker.Image, error) {
	what := "look up image " + ref
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return nil, c.fail(what, err)
	}
	res, err := c.cli.ImageInspect(ctx, askFor(ref))
	if err != nil {
		return nil, c.fail(what, err)
	}
	img := &docker.Image{
		ID:           res.ID,
		Digests:      res.RepoDigests,
		Tags:         res.RepoTags,
		Architecture: res.Architecture,
		OS:           res.Os,
		SizeBytes:    res.Size,
	}
	if res.Config != nil {
		for port := range res.Config.ExposedPorts {
			img.ExposedPorts = appendTCP(img.ExposedPorts, port)
		}
	}
	if res.Config != nil {
		img.Volumes, img.User = slices.Sorted(maps.Keys(res.Config.Volumes)), res.Config.User
	}
	slices.Sort(img.ExposedPorts)
	return img, nil
}

// appendTCP takes "8080/tcp" or "8080"; other protocols are left out.
func appendTCP(ports []int, port string) []int {
	number, proto, _ := strings.Cut(port, "/")
	n, err := strconv.Atoi(number)
	if err != nil || (proto != "" && proto != "tcp") {
		return ports
	}
	return append(ports, n)
}

// askFor protects a name such as "cafe" from being taken for the beginning of
// some image's id: an engine tries that when no image has the name.
func askFor(ref string) string {
	if ref == "" || len(ref) >= 64 || strings.Trim(ref, "0123456789abcdef") != "" {
		return ref
	}
	return ref + ":latest"
}
