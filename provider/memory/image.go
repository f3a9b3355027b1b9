package memory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/berth-cloud/berth/provider"
)

// Program is what runs in a container. It returns its exit code, at the latest
// soon after ctx ends, which is the kill.
type Program func(ctx context.Context, p *Process) int

// Image is what containers are made of.
type Image struct {
	Env map[string]string

	// Entrypoint and Command are what runs unless the service says otherwise.
	Entrypoint []string
	Command    []string

	// Programs are by the path that a command line begins with.
	Programs map[string]Program

	// Missing makes pulling the image fail.
	Missing bool

	// Fetching makes InspectImage answer that the image is on its way, until it is
	// added again without.
	Fetching bool

	// Digest is what InspectImage says; empty is a hash of the reference.
	Digest string

	// Volumes are the directories that the image declares, as they are written in it,
	// and User whom it runs as.
	Volumes []string
	User    string
}

// AddImage makes a reference known. What is not known is an image of Serve.
func (c *Cluster) AddImage(ref string, image Image) {
	c.mu.Lock()
	defer c.mu.Unlock()
	image.Env, image.Programs = maps.Clone(image.Env), maps.Clone(image.Programs)
	image.Volumes = slices.Clone(image.Volumes)
	image.Entrypoint, image.Command = slices.Clone(image.Entrypoint), slices.Clone(image.Command)
	c.images[ref] = image
}

// InspectImage implements provider.ImageInspector.
func (p *Provider) InspectImage(ctx context.Context, ref string) (*provider.ImageInfo, error) {
	what := "inspect image " + ref
	if _, err := p.wire.ask(ctx, read, what); err != nil {
		return nil, err
	}
	image, err := p.cluster.image(ref)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", what, provider.ErrImageUnavailable, err)
	case image.Fetching:
		return nil, fmt.Errorf("%s: %w: it is being fetched", what, provider.ErrPending)
	}
	info := &provider.ImageInfo{Digest: image.Digest, Volumes: provider.ImageVolumes(image.Volumes), User: image.User}
	if info.Digest == "" {
		info.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(ref)))
	}
	return info, nil
}

// image is what a reference stands for.
func (c *Cluster) image(ref string) (Image, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	image, known := c.images[ref]
	if !known {
		return Image{Entrypoint: []string{servePath}, Programs: map[string]Program{servePath: Serve}}, nil
	}
	if image.Missing {
		return Image{}, fmt.Errorf("there is no image %s", ref)
	}
	return image, nil
}

const servePath = "/serve"

// Serve listens on every port of its service and answers all requests with 200
// and its hostname, until it is told to stop.
func Serve(ctx context.Context, p *Process) int {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, p.Hostname()+"\n") })
	var servers []*http.Server
	done := make(chan struct{}, len(p.ports()))
	for _, port := range p.ports() {
		l, err := p.Listen(port)
		if err != nil {
			_, _ = fmt.Fprintln(p.Stderr(), err)
			return 1
		}
		srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		servers = append(servers, srv)
		go func() { _ = srv.Serve(l); done <- struct{}{} }()
	}
	select {
	case <-ctx.Done():
	case <-p.Stopped():
	}
	for _, srv := range servers {
		_ = srv.Close()
		<-done
	}
	return 0
}
