package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/moby/moby/client"
)

// Connect returns a client for the engine at host, such as
// unix:///var/run/docker.sock. The caller closes it.
func Connect(host string) (*client.Client, error) {
	c, err := client.New(client.WithHost(host))
	if err != nil {
		return nil, fmt.Errorf("a client for the engine at %s: %w", host, err)
	}
	return c, nil
}

// Load gives the engine the image under ref, "name:tag", and returns the id
// that the engine knows it by. It does nothing when the engine has it already.
func Load(ctx context.Context, engine *client.Client, ref string, img *Image) (string, error) {
	if have, err := engine.ImageInspect(ctx, ref); err == nil && have.ID == img.ID() {
		return have.ID, nil
	}
	archive, err := img.archive(ref)
	if err != nil {
		return "", err
	}
	progress, err := engine.ImageLoad(ctx, archive)
	if err != nil {
		return "", fmt.Errorf("loading image %s: %w", ref, err)
	}
	defer progress.Close()
	if err := refusal(progress); err != nil {
		return "", fmt.Errorf("loading image %s: %w", ref, err)
	}
	have, err := engine.ImageInspect(ctx, ref)
	if err != nil {
		return "", fmt.Errorf("image %s was loaded and is not there: %w", ref, err)
	}
	return have.ID, nil
}

// refusal reads the engine's progress to its end; an error in it is one.
func refusal(progress io.Reader) error {
	for d := json.NewDecoder(progress); ; {
		var line struct{ Error string }
		err := d.Decode(&line)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case line.Error != "":
			return errors.New(line.Error)
		}
	}
}
