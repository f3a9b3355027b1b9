package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// impliedDirMode is given to a directory that is made for a file below it.
const impliedDirMode = 0o755

// CopyInto implements docker.Runtime.
func (c *Client) CopyInto(ctx context.Context, name, dir string, files []docker.File) error {
	what := "copy files into " + dir + " of container " + name
	if err := docker.CheckFiles(dir, files); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	dirs, err := c.missingDirs(ctx, name, dir, files)
	if err != nil {
		return c.fail(what, err)
	}
	content, err := archive(dirs, files)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", what, docker.ErrInvalid, err)
	}
	_, err = c.cli.CopyToContainer(ctx, name, client.CopyToContainerOptions{DestinationPath: dir, Content: content})
	if err != nil {
		return c.fail(what, err)
	}
	return nil
}

// missingDirs are the directories between dir and the files that do not exist
// yet, outer ones first. An engine would make them too, with a mode that
// depends on its version; one that exists must not be given another.
func (c *Client) missingDirs(ctx context.Context, name, dir string, files []docker.File) ([]string, error) {
	seen := map[string]bool{}
	var missing []string
	for _, f := range files {
		for i, r := range f.Path {
			if r != '/' || seen[f.Path[:i]] {
				continue
			}
			parent := f.Path[:i]
			seen[parent] = true
			_, err := c.cli.ContainerStatPath(ctx, name, client.ContainerStatPathOptions{Path: path.Join(dir, parent)})
			if err == nil {
				continue
			}
			if !errors.Is(c.fail("", err), docker.ErrNotFound) {
				return nil, err
			}
			missing = append(missing, parent)
		}
	}
	return missing, nil
}

// archive packs files and the directories made for them. All are as old as the
// epoch: the same files give the same bytes.
func archive(dirs []string, files []docker.File) (*bytes.Buffer, error) {
	content := &bytes.Buffer{}
	w := tar.NewWriter(content)
	for _, d := range dirs {
		h := tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimSuffix(d, "/") + "/", Mode: impliedDirMode, ModTime: time.Unix(0, 0)}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		h := tar.Header{
			Typeflag: tar.TypeReg, Name: f.Path, Mode: int64(f.Permissions()), Uid: f.UID, Gid: f.GID,
			Size: int64(len(f.Data)), ModTime: time.Unix(0, 0),
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	return content, w.Close()
}
