package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/store"
)

// ErrNeighbour: another backend on this machine has what this one is to have.
var ErrNeighbour = errors.New("another backend on this machine has these networks")

// Neighbour is what a backend that runs says of itself to others on its machine.
type Neighbour struct {
	Name     string       `json:"name"`
	Instance string       `json:"instance"`
	DataDir  string       `json:"data_dir"`
	PID      int          `json:"pid"`
	Engine   string       `json:"engine"` // its address; one engine has one
	Here     bool         `json:"here"`   // the engine is on this machine
	Fenced   bool         `json:"fenced"` // has a firewall
	Prefix   string       `json:"network_prefix"`
	Pool     netip.Prefix `json:"network_pool"`
}

const (
	askTimeout = time.Second
	maxCard    = 16 << 10
	// DefaultPlace is the machine. Tests have places of their own.
	DefaultPlace = "berthd-backend"
)

// conflict says what of the one the other has too; nil is nothing.
func (n Neighbour) conflict(other Neighbour) error {
	oneEngine := n.Engine == other.Engine
	oneFirewall := n.Here && other.Here && (n.Fenced || other.Fenced)
	if n.Instance == other.Instance {
		return nil // two processes of one instance are told apart by its claim
	}
	var same []string
	if (oneEngine || oneFirewall) && n.Pool.Overlaps(other.Pool) {
		same = append(same, fmt.Sprintf("network_pool %s overlaps its %s", n.Pool, other.Pool))
	}
	if oneEngine && n.Prefix == other.Prefix {
		same = append(same, fmt.Sprintf("network_prefix %s is its own as well", n.Prefix))
	}
	if len(same) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s, which runs as process %d on %s: %s; write others into the settings of this one",
		ErrNeighbour, other.Name, other.PID, other.DataDir, strings.Join(same, ", and "))
}

// Announce has others learn of self until it is closed, or the process ends however. One
// that runs already and has the same engine names, or addresses, is an ErrNeighbour that
// names it; what is returned beside it announces self all the same, for a caller who goes
// on. What is announced is a name that no file system has, so that nothing is left of it.
func Announce(ctx context.Context, place string, self Neighbour, logger *slog.Logger) (io.Closer, error) {
	// One at a time, or of two that start at once neither sees the other.
	turn, err := unlocked(ctx, func() (net.Listener, error) {
		l, err := listenAbstract(ctx, place+"-turn")
		if errors.Is(err, unix.EADDRINUSE) {
			return nil, fmt.Errorf("%w: another backend is just starting and does not get on; try again, or look at the processes called berthd", store.ErrLocked)
		}
		return l, err
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = turn.Close() }()
	names, err := announced(place)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, name := range names {
		other, err := askNeighbour(ctx, name)
		if err != nil { // it says nothing of what it has, and its firewall is seen anyhow
			logger.WarnContext(ctx, "a backend on this machine does not say what networks it has", "socket", "@"+name, "error", err)
			continue
		}
		faults = append(faults, self.conflict(other))
	}
	card, err := json.Marshal(self)
	if err != nil {
		return nil, err
	}
	l, err := listenAbstract(ctx, place+"-at-"+self.Instance)
	if err != nil {
		return nil, fmt.Errorf("tell others on this machine of this backend: %w", err)
	}
	return handOut(l, card), errors.Join(faults...)
}

func listenAbstract(ctx context.Context, name string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "unix", "@"+name)
}

// announced are the names of those that listen in a place.
func announced(place string) ([]string, error) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, fmt.Errorf("look for other backends: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		// Flags have a bit for those that listen; what was accepted has the name too.
		if len(f) == 8 && f[3] == "00010000" && strings.HasPrefix(f[7], "@"+place+"-at-") {
			out = append(out, f[7][1:])
		}
	}
	return out, nil
}

// askNeighbour reads what somebody says of himself, if that is root or our own user.
func askNeighbour(ctx context.Context, name string) (Neighbour, error) {
	var n Neighbour
	d := net.Dialer{Timeout: askTimeout}
	c, err := d.DialContext(ctx, "unix", "@"+name)
	if err != nil {
		return n, err
	}
	defer func() { _ = c.Close() }()
	peer, known := api.PeerFrom(api.ConnContext(ctx, c))
	if !known || peer.UID != 0 && peer.UID != os.Geteuid() {
		return n, fmt.Errorf("it belongs to user %d", peer.UID)
	}
	if err := c.SetDeadline(time.Now().Add(askTimeout)); err != nil {
		return n, err
	}
	err = json.NewDecoder(io.LimitReader(c, maxCard)).Decode(&n)
	return n, err
}

// presented is a card that is given to whoever asks.
type presented struct {
	net.Listener
	wg sync.WaitGroup
}

func handOut(l net.Listener, card []byte) *presented {
	p := &presented{Listener: l}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				<-time.After(lockEvery) // out of files, for a moment
				continue
			}
			// One after the other: a card fits into the socket, and nobody is waited for.
			_ = c.SetDeadline(time.Now().Add(askTimeout))
			_, _ = c.Write(card)
			_ = c.Close()
		}
	})
	return p
}

// Close implements io.Closer.
func (p *presented) Close() error {
	err := p.Listener.Close()
	p.wg.Wait()
	return err
}
