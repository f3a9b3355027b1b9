package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

// open finds a machine's folder and record, for what only this kind of provider does.
func (p *Provider) open(ctx context.Context, instanceID string) (*os.Root, record, error) {
	f, r, err := p.host.Find(ctx, instanceID)
	if err != nil {
		return nil, record{}, err
	}
	root, err := os.OpenRoot(f.Path)
	return root, r, err
}

// Console is what a machine has written to its console since it was last asked, the
// last 256 KiB at most. It is lost with the machine's process. A guest may write there
// what is in its user data, so it is for the operator alone.
func (p *Provider) Console(ctx context.Context, instanceID string) (string, error) {
	root, r, err := p.open(ctx, instanceID)
	if err != nil {
		return "", err
	}
	defer root.Close()
	m, err := openMonitor(ctx, root, r.uuid())
	if err != nil {
		return "", err
	}
	defer m.close()
	var text string
	err = m.do("ringbuf-read", map[string]any{"device": "console", "size": consoleRoom}, &text)
	return text, err
}

// KillMachine ends a machine as a power cut does, for tests of what its failure does.
func (p *Provider) KillMachine(ctx context.Context, instanceID string) error {
	f, err := p.host.Folder(ctx, instanceID)
	if err != nil {
		return err
	}
	unlock, err := hostdir.Lock(ctx, f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return infra.ErrInstanceNotFound
	}
	if err != nil {
		return err
	}
	defer unlock()
	root, r, err := p.open(ctx, instanceID)
	if err != nil {
		return err
	}
	defer root.Close()
	there, err := lives(root)
	if err == nil && there {
		err = kill(root)
	}
	for err == nil && there {
		if err = hostdir.Pause(ctx, endEvery); err == nil {
			there, err = lives(root)
		}
	}
	if err != nil {
		return fmt.Errorf("kill machine %s: %w", r.ProviderID, err)
	}
	return nil
}
