package qemu

import (
	"context"
	"maps"
	"os"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

// seen is a machine as it is now.
func (p *Provider) seen(ctx context.Context, f hostdir.Folder, r record) *infra.Instance {
	return &infra.Instance{
		InstanceID: r.InstanceID, ProviderInstanceID: r.ProviderID, Status: p.status(ctx, f, r),
		Hostname: r.InstanceID, LaunchedAt: r.LaunchedAt, Tags: maps.Clone(r.Tags),
	}
}

// status is what is found of a machine. What cannot be read is no fact about it.
func (p *Provider) status(ctx context.Context, f hostdir.Folder, r record) infra.Status {
	if !r.DeletedAt.IsZero() {
		return infra.StatusDeleting
	}
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return infra.StatusUnknown
	}
	defer root.Close()
	// Noted after the start and looked at before the process: one that is noted and
	// not there has ended.
	started, err := has(root, startedFile)
	if err != nil {
		return infra.StatusUnknown
	}
	there, err := lives(root)
	switch {
	case err != nil:
		return infra.StatusUnknown
	case !there && started:
		return infra.StatusStopped
	case !there:
		return infra.StatusPending
	}
	state, err := ask(ctx, root, r)
	switch {
	case err == nil:
		return statusOf(state)
	case !started:
		return infra.StatusPending // it may not have come as far as its monitor
	}
	if there, err := lives(root); err == nil && !there {
		return infra.StatusStopped // it ended meanwhile
	}
	p.host.Logger.WarnContext(ctx, "a machine's state is not known", "machine", r.ProviderID, "error", err)
	return infra.StatusUnknown
}

func ask(ctx context.Context, root *os.Root, r record) (string, error) {
	m, err := openMonitor(ctx, root, r.uuid())
	if err != nil {
		return "", err
	}
	defer m.close()
	return m.state()
}

// statusOf maps QEMU's run states. A machine that QEMU has halted for an error of its
// own or of the host's does nothing any more.
func statusOf(state string) infra.Status {
	switch state {
	case "running":
		return infra.StatusRunning
	case "prelaunch", "inmigrate":
		return infra.StatusPending
	case "paused", "suspended":
		return infra.StatusSuspended
	case "shutdown":
		return infra.StatusStopping // its process is about to end
	case "internal-error", "io-error", "guest-panicked", "watchdog":
		return infra.StatusStopped
	}
	return infra.StatusUnknown
}
