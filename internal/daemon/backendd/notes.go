package backendd

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/daemon"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

// Notes are for everybody who can reach the port: no path, no address, no text of an engine.
const (
	unenforced = "the size of a disk is counted and not enforced"
	unfenced   = "no firewall keeps leases apart"
	sharing    = "another backend on this machine has networks of this one: network_prefix and network_pool have to differ"
	unguarded  = "the firewall of leases does not stand; nothing is started until it does"
	planeGone  = "the data plane does not answer, so that leases are not reached by name: "
	engineGone = "the Docker engine does not answer, so that leases stay as they are: "
)

// answerTime is how long one is waited for before he is taken not to answer.
const answerTime = 10 * time.Second

var errMute = errors.New("it takes connections and does not answer")

// follow prepares for those without whom leases do not change, or are not reached.
func (b *backendd) follow() {
	b.engineAt = daemon.FollowEngine(b.set.Docker, "docker in the settings", b.logger)
	if b.set.Ingress == nil {
		return
	}
	control := b.set.Ingress.Control
	b.planeAt = daemon.NewPresence(func(ctx context.Context, err error) {
		b.logger.WarnContext(ctx, "the data plane does not answer; leases are not reached by name until it does", "control", control, "error", err,
			"do", "start it (berth-node ingress --control "+control+", with its --dir and --http), or write the control socket of the one that runs under ingress.control in the settings")
	}, func(ctx context.Context) { b.logger.InfoContext(ctx, "the data plane answers", "control", control) })
}

// planeReached is told by the connection to the data plane.
func (b *backendd) planeReached(ctx context.Context, err error) {
	if err == nil {
		b.planeAt.There(ctx)
		return
	}
	b.planeAt.Gone(ctx, err)
}

// notes are what is said beside the health, as of now.
func (b *backendd) notes() []string {
	var notes []string
	if b.set.SKUs.UnenforcedDisk() {
		notes = append(notes, unenforced)
	}
	if b.firewall == nil {
		notes = append(notes, unfenced)
	} else if b.firewall.wrong() {
		notes = append(notes, unguarded)
	}
	if b.shares {
		notes = append(notes, sharing)
	}
	if err := b.engineAt.Absent(); err != nil {
		notes = append(notes, engineGone+why(err))
	}
	if b.planeAt != nil {
		if err := b.planeAt.Absent(); err != nil {
			notes = append(notes, planeGone+why(err))
		}
	}
	return notes
}

// why says of an error in plain words what everybody may know.
func why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "its socket is not there"
	case errors.Is(err, unix.ECONNREFUSED):
		return "nobody listens on its socket"
	case errors.Is(err, fs.ErrPermission):
		return "this process may not open its socket"
	case errors.Is(err, table.ErrProtocol):
		return "it is of another version"
	case errors.Is(err, errMute):
		return errMute.Error()
	}
	return "the connection to it failed, the log says how"
}
