package application

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
)

// fileVolume holds the files that one container has in one directory.
type fileVolume struct {
	volume docker.VolumeSpec
	dir    string
	files  []spec.File
}

// fileVolumes are the volumes of a container's files, one for every directory.
func (c *Controller) fileVolumes(app, container string, m spec.Member) []fileVolume {
	byDir := map[string][]spec.File{}
	for _, f := range m.Files {
		dir := path.Dir(f.Path)
		byDir[dir] = append(byDir[dir], f)
	}
	var out []fileVolume
	for i, dir := range slices.Sorted(maps.Keys(byDir)) {
		labels := c.ownerLabels()
		maps.Copy(labels, c.extraLabels)
		labels[docker.LabelApp], labels[docker.LabelFiles] = app, container
		out = append(out, fileVolume{
			volume: docker.VolumeSpec{Name: fmt.Sprintf("%s.files%d", container, i), Labels: labels}, dir: dir, files: byDir[dir],
		})
	}
	return out
}

func (c *Controller) ensureFileVolumes(ctx context.Context, app, container string, m spec.Member) error {
	for _, f := range c.fileVolumes(app, container, m) {
		c.memory.noteFiles(c.service, true)
		if err := c.rt.EnsureVolume(ctx, f.volume); err != nil {
			return fmt.Errorf("volume for files in %s: %w", f.dir, err)
		}
	}
	return nil
}

// fill puts a container's files into their volumes. It may be repeated until
// the container has been started.
func (c *Controller) fill(ctx context.Context, a *Action) error {
	for _, f := range c.fileVolumes("", a.Container, specOf(a.Release, a.Member)) {
		var files []docker.File
		for _, file := range f.files {
			if file.Secret.Version == 0 {
				continue // optional, and the vault did not have it
			}
			value, err := c.secrets.SecretValue(ctx, file.Secret.Key, file.Secret.Version)
			if err != nil {
				return fmt.Errorf("file %s: %w", file.Path, err)
			}
			files = append(files, docker.File{Path: path.Base(file.Path), Data: value.Reveal()})
		}
		if len(files) == 0 {
			continue
		}
		if err := c.rt.CopyInto(ctx, a.Container, f.dir, files); err != nil {
			return fmt.Errorf("put files into %s: %w", f.dir, err)
		}
	}
	return nil
}

// removeFileVolumes removes what held the files of a container that is gone.
func (c *Controller) removeFileVolumes(ctx context.Context, container string) error {
	all, err := c.fileVolumesOf(ctx, container)
	if err != nil {
		return err
	}
	for _, v := range all {
		if err := c.rt.RemoveVolume(ctx, v.Name); err != nil {
			return err
		}
	}
	return nil
}

// fileVolumesOf lists the volumes with the files of a container, or for "" of
// all that the service has or had. The engine is not asked again once it has
// said that there is none, until one is made.
func (c *Controller) fileVolumesOf(ctx context.Context, container string) ([]docker.Volume, error) {
	if c.memory.hasNoFiles(c.service) {
		return nil, nil
	}
	l := c.ownerLabels()
	l[docker.LabelFiles] = container
	all, err := c.rt.ListVolumes(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("list the file volumes of %s: %w", cmp.Or(container, c.service), err)
	}
	return all, nil
}
