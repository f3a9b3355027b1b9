package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// ErrNoPredecessor says that no data plane runs that could hand over.
var ErrNoPredecessor = errors.New("no data plane to take over from")

// Takeover is the successor's side of a handover.
type Takeover struct {
	conn  *net.UnixConn
	files map[string]*os.File
	nodes int
}

// TakeOver asks the data plane behind the socket for what it has. The caller
// calls Ready once it serves, or Close.
func TakeOver(ctx context.Context, socket string) (*Takeover, error) {
	d := net.Dialer{Timeout: 2 * time.Second}
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("%w on %s: %w", ErrNoPredecessor, socket, err)
	}
	uc := c.(*net.UnixConn) // dialled as one
	_ = uc.SetDeadline(time.Now().Add(readyTimeout))
	t := &Takeover{conn: uc, files: map[string]*os.File{}}
	if err := t.receive(); err != nil {
		t.Close()
		return nil, fmt.Errorf("take over from the data plane on %s: %w", socket, err)
	}
	return t, nil
}

// receive asks, and reads the one message with the files.
func (t *Takeover) receive() error {
	if _, err := io.WriteString(t.conn, "POST "+handoverPath+" HTTP/1.1\r\nHost: ingress\r\nContent-Length: 0\r\n\r\n"); err != nil {
		return err
	}
	msg, oob := make([]byte, maxInventory), make([]byte, unix.CmsgSpace(4*maxHeirlooms))
	n, oobn, _, _, err := t.conn.ReadMsgUnix(msg, oob)
	if err != nil {
		return err
	}
	body, switched := bytes.CutPrefix(msg[:n], []byte(handoverHello))
	if !switched {
		return fmt.Errorf("it refused: %.300q", msg[:n])
	}
	fds, err := parseRights(oob[:oobn])
	if err != nil {
		return err
	}
	var inv Inventory
	if err := json.Unmarshal(body, &inv); err != nil || len(inv.Files) != len(fds) {
		closeFDs(fds)
		return fmt.Errorf("%d files and an inventory %.300q: %w", len(fds), body, err)
	}
	for i, fd := range fds {
		unix.CloseOnExec(fd)
		t.files[inv.Files[i]] = os.NewFile(uintptr(fd), inv.Files[i])
	}
	t.nodes = inv.Nodes
	if inv.Protocol != table.Protocol {
		return fmt.Errorf("%w: it speaks protocol %d, this build %d", table.ErrProtocol, inv.Protocol, table.Protocol)
	}
	return nil
}

func parseRights(oob []byte) ([]int, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var fds []int
	for i := range msgs {
		more, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			closeFDs(fds)
			return nil, err
		}
		fds = append(fds, more...)
	}
	return fds, nil
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// File is a file of the predecessor, nil when it had none of that name. The
// caller owns it.
func (t *Takeover) File(name string) *os.File {
	f := t.files[name]
	delete(t.files, name)
	return f
}

// Nodes is how many nodes the predecessor has connected.
func (t *Takeover) Nodes() int { return t.nodes }

// Ready tells the predecessor to drain.
func (t *Takeover) Ready() error {
	if _, err := io.WriteString(t.conn, readyLine); err != nil {
		return fmt.Errorf("tell the old data plane to drain: %w", err)
	}
	return nil
}

// Follow gives each what the predecessor has in flight until it is done, and
// nothing at its end, or at ctx's.
func (t *Takeover) Follow(ctx context.Context, each func([]table.TargetReport)) {
	defer each(nil)
	_ = t.conn.SetDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { _ = t.conn.Close() })
	defer stop()
	lines := bufio.NewScanner(t.conn)
	lines.Buffer(nil, maxTableBytes)
	for lines.Scan() {
		var busy []table.TargetReport
		if json.Unmarshal(lines.Bytes(), &busy) == nil {
			each(busy)
		}
	}
}

// Close gives up what was not taken; before Ready the predecessor goes on.
func (t *Takeover) Close() {
	_ = t.conn.Close()
	for _, f := range t.files {
		_ = f.Close()
	}
}
