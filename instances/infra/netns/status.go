package netns

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

// seen is a machine as it is now.
func seen(_ context.Context, f hostdir.Folder, r record) *infra.Instance {
	return &infra.Instance{
		InstanceID: r.InstanceID, ProviderInstanceID: r.ProviderID, Status: status(f, r),
		PrivateIPv4: r.machineAddr().String(), Hostname: r.InstanceID,
		LaunchedAt: r.LaunchedAt, Tags: maps.Clone(r.Tags),
	}
}

// status is what is found of a machine. What cannot be read is no fact about it.
func status(f hostdir.Folder, r record) infra.Status {
	if !r.DeletedAt.IsZero() {
		return infra.StatusDeleting
	}
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return infra.StatusUnknown
	}
	defer root.Close()
	_, err = root.Stat(machine.StartedFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return infra.StatusPending
	case err != nil:
		return infra.StatusUnknown
	}
	process, err := machine.ReadProcess(root)
	if err != nil {
		return infra.StatusUnknown
	}
	h, err := process.Open()
	if err != nil {
		return infra.StatusUnknown
	}
	if h == nil {
		return infra.StatusStopped
	}
	h.Close()
	state, err := machine.ReadState(root)
	if errors.Is(err, fs.ErrNotExist) {
		return infra.StatusPending
	}
	if err != nil {
		return infra.StatusUnknown
	}
	switch state.Phase {
	case machine.Booting:
		return infra.StatusPending
	case machine.Running:
		return infra.StatusRunning
	case machine.Stopping, machine.Stopped, machine.Failed:
		return infra.StatusStopping // its process is about to end
	}
	return infra.StatusUnknown
}
