package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// A handover passes everything that only one process can have from a running
// data plane to its successor: the successor sends POST /v1/handover, gets one
// message with the open files and an [Inventory], loads the tables, serves, and
// says "ready". From the first message until then pushes are refused, so that
// both serve the same tables. The old one then drains, and tells over the same
// connection what it still has in flight, so that no target is taken for drained
// too early. Should the successor fail before it is ready, the old one goes on as
// if nothing had happened.

// Inventory names the files of a handover, in their order.
type Inventory struct {
	Protocol int      `json:"protocol"`
	Files    []string `json:"files"`
	Nodes    int      `json:"nodes,omitempty"` // whose agents are connected
}

// Heirloom is an open file or socket that is passed on, under a name.
type Heirloom struct {
	Name string
	File syscall.Conn
}

const (
	handoverPath  = "/v1/handover"
	readyTimeout  = 30 * time.Second
	readyLine     = "ready\n"
	maxHeirlooms  = 64
	maxInventory  = 64 << 10
	handoverHello = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: berth-handover\r\n\r\n"
)

// Handover is the old process's part that the server does not know.
type Handover struct {
	// Begin prepares one; Failed or Done is called after it, unless it failed itself.
	Begin func() (Estate, error)
	// Failed gives the successor up: the process goes on.
	Failed func()
	// Done is called once the successor is ready: the process must stop
	// accepting, drain, and exit.
	Done func()
}

// Estate is what is passed on.
type Estate struct {
	Files []Heirloom
	Nodes int // whose agents are connected
}

var errHandingOver = errors.New("this data plane is handing over to its successor; push again in a moment")

// handover answers a successor.
func (s *Server) handover(w http.ResponseWriter, _ *http.Request) {
	if s.heirs == nil {
		answer(w, http.StatusNotImplemented, table.Problem{Code: "handover", Message: "this data plane cannot hand over"})
		return
	}
	if !s.plane.freeze() {
		answer(w, http.StatusConflict, table.Problem{Code: "handover", Message: "another successor is taking over already"})
		return
	}
	estate, err := s.heirs.Begin()
	if err == nil {
		if err = s.passOn(w, estate); err != nil {
			s.heirs.Failed()
		}
	} else {
		answer(w, http.StatusInternalServerError, table.Problem{Code: "handover", Message: err.Error()})
	}
	if err != nil {
		s.plane.thaw()
		s.log.Error("handover failed; this process goes on", "error", err)
	}
}

func (s *Server) passOn(w http.ResponseWriter, estate Estate) error {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return errors.New("the connection is no Unix socket")
	}
	if err := sendHeirlooms(uc, estate); err != nil {
		_ = uc.Close()
		return err
	}
	_ = uc.SetReadDeadline(time.Now().Add(readyTimeout))
	if line, err := bufio.NewReaderSize(uc, 64).ReadString('\n'); err != nil || line != readyLine {
		_ = uc.Close()
		return fmt.Errorf("the successor did not become ready: %q, %w", line, err)
	}
	_ = uc.SetDeadline(time.Time{})
	s.log.Info("handed over; draining")
	s.heir.Go(func() { s.plane.tellHeir(s.drained, uc) })
	s.heirs.Done()
	return nil
}

// heirEvery is how often it is looked whether what is in flight has changed.
const heirEvery = 20 * time.Millisecond

// tellHeir writes what is in flight whenever it changed, until the drain is over.
func (p *Plane) tellHeir(drained <-chan struct{}, c net.Conn) {
	defer func() { _ = c.Close() }()
	enc := json.NewEncoder(c)
	tick := time.NewTicker(heirEvery)
	defer tick.Stop()
	var last []table.TargetReport
	for {
		busy := p.busy()
		if last == nil || !slices.Equal(busy, last) {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			if enc.Encode(busy) != nil {
				return
			}
			last = busy
		}
		select {
		case <-tick.C:
		case <-drained:
			return
		}
	}
}

// busy are the targets with something in flight, in order; never nil.
func (p *Plane) busy() []table.TargetReport {
	busy := []table.TargetReport{}
	for _, t := range p.traffic.Report().Targets {
		if t.InFlight > 0 {
			busy = append(busy, t)
		}
	}
	slices.SortFunc(busy, func(a, b table.TargetReport) int { return strings.Compare(a.ID, b.ID) })
	return busy
}

func sendHeirlooms(c *net.UnixConn, estate Estate) error {
	inv := Inventory{Protocol: table.Protocol, Nodes: estate.Nodes}
	fds := make([]int, 0, len(estate.Files))
	defer func() { closeFDs(fds) }()
	for _, f := range estate.Files {
		fd, err := duplicate(f.File)
		if err != nil {
			return fmt.Errorf("duplicate %s: %w", f.Name, err)
		}
		inv.Files = append(inv.Files, f.Name)
		fds = append(fds, fd)
	}
	body, err := json.Marshal(inv)
	if err != nil {
		return err
	}
	msg := append([]byte(handoverHello), append(body, '\n')...)
	_ = c.SetWriteDeadline(time.Now().Add(readyTimeout))
	n, _, err := c.WriteMsgUnix(msg, unix.UnixRights(fds...), nil)
	if err == nil && n < len(msg) {
		err = io.ErrShortWrite
	}
	return err
}

// duplicate is another descriptor of the same file. Unlike the File methods of
// package net it leaves the original non-blocking.
func duplicate(f syscall.Conn) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	var fd int
	if cerr := raw.Control(func(orig uintptr) {
		fd, err = unix.FcntlInt(orig, unix.F_DUPFD_CLOEXEC, 0)
	}); cerr != nil {
		return -1, cerr
	}
	return fd, err
}
