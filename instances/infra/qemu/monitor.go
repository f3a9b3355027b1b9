package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

const (
	// monitorTime bounds one talk with a machine's monitor.
	monitorTime = 2 * time.Second
	// monitorRoom bounds what it may say in one, in bytes.
	monitorRoom = 4 << 20
)

// monitor is a talk with a machine's QEMU. It has one at a time; others wait.
type monitor struct {
	conn net.Conn
	in   *json.Decoder
}

// openMonitor begins a talk with the monitor of the machine with this UUID.
func openMonitor(ctx context.Context, root *os.Root, uuid string) (*monitor, error) {
	conn, err := dialIn(ctx, root, monitorFile)
	if err != nil {
		return nil, fmt.Errorf("the machine's monitor: %w", err)
	}
	m := &monitor{conn: conn, in: json.NewDecoder(io.LimitReader(conn, monitorRoom))}
	if err := m.begin(ctx, uuid); err != nil {
		m.close()
		return nil, fmt.Errorf("the machine's monitor: %w", err)
	}
	return m, nil
}

func (m *monitor) begin(ctx context.Context, uuid string) error {
	deadline := time.Now().Add(monitorTime)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := m.conn.SetDeadline(deadline); err != nil {
		return err
	}
	var hello struct{ QMP *struct{} }
	if err := m.in.Decode(&hello); err != nil {
		return err
	}
	if hello.QMP == nil {
		return errors.New("it does not speak QMP")
	}
	if err := m.do("qmp_capabilities", nil, nil); err != nil {
		return err
	}
	var is struct{ UUID string }
	if err := m.do("query-uuid", nil, &is); err != nil {
		return err
	}
	if !strings.EqualFold(is.UUID, uuid) {
		return errors.New("it is another machine's")
	}
	return nil
}

func (m *monitor) close() { _ = m.conn.Close() }

// do runs one command. Events that come between are passed over.
func (m *monitor) do(command string, arguments, result any) error {
	err := json.NewEncoder(m.conn).Encode(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
	}{command, arguments})
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	for {
		var said struct {
			Return json.RawMessage `json:"return"`
			Error  *struct{ Desc string }
			Event  string
		}
		if err := m.in.Decode(&said); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		switch {
		case said.Event != "":
		case said.Error != nil:
			return fmt.Errorf("%s: %s", command, said.Error.Desc)
		case result == nil:
			return nil
		default:
			return json.Unmarshal(said.Return, result)
		}
	}
}

// state is QEMU's word for what the machine does.
func (m *monitor) state() (string, error) {
	var s struct{ Status string }
	err := m.do("query-status", nil, &s)
	return s.Status, err
}

// dialIn connects to a socket in a folder, however long the folder's path: a socket's
// address has 107 characters.
func dialIn(ctx context.Context, root *os.Root, name string) (net.Conn, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	ctx, cancel := context.WithTimeout(ctx, monitorTime)
	defer cancel()
	address := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name)
	for {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", address)
		if !errors.Is(err, unix.EAGAIN) { // as many wait as it lets wait
			return conn, err
		}
		if err := hostdir.Pause(ctx, hostdir.LockEvery); err != nil {
			return nil, err
		}
	}
}
