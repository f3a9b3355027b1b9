package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"sync"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// patience bounds one exchange with the kernel.
const patience = 10 * time.Second

// Local is this machine, by netlink. The zero value is the network namespace of the
// process.
type Local struct {
	// NetNS is an open file of another network namespace; 0 is the own one.
	NetNS int

	mu sync.Mutex
	// seen is what was found to stand, and when in the kernel's own count of changes.
	seen *standing
}

type standing struct {
	generation uint32
	rules      Rules
}

var _ Host = (*Local)(nil)

// Firewall implements Host.
func (l *Local) Firewall(ctx context.Context, r Rules) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.check(ctx, r)
	if !errors.Is(err, ErrDiffers) {
		return err
	}
	if err := l.replace(ctx, layoutOf(r)); err != nil {
		return err
	}
	if err := l.check(ctx, r); err != nil {
		return fmt.Errorf("after it was written: %w", err)
	}
	return nil
}

// CheckFirewall implements Host. While nobody has changed any table of the namespace
// since rules were found to stand, that is a single question to the kernel.
func (l *Local) CheckFirewall(ctx context.Context, r Rules) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.check(ctx, r)
}

// DropFirewall implements Host.
func (l *Local) DropFirewall(ctx context.Context, name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%w: %q is not the name of any", ErrRules, name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c, done, err := l.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	// Made first, so that there is one to delete.
	t := c.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: TableName(name)})
	c.DelTable(t)
	return unable("take the firewall away", c.Flush())
}

func (l *Local) check(ctx context.Context, r Rules) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Asked before the look: a change in between makes the next check look again.
	now, err := l.generation(ctx)
	if err != nil {
		return err
	}
	if l.seen != nil && l.seen.generation == now && reflect.DeepEqual(l.seen.rules, r) {
		return nil
	}
	l.seen = nil
	if err := l.compare(ctx, layoutOf(r)); err != nil {
		return err
	}
	l.seen = &standing{now, r}
	return nil
}

// open is a connection to the kernel that ends with the context, and after patience.
func (l *Local) open(ctx context.Context) (*nftables.Conn, func(), error) {
	c, err := nftables.New(nftables.AsLasting(), nftables.WithNetNSFd(l.NetNS), nftables.WithSockOptions(func(c *netlink.Conn) error {
		return c.SetDeadline(deadline(ctx))
	}))
	if err != nil {
		return nil, nil, unable("reach nftables", err)
	}
	return c, func() { _ = c.CloseLasting() }, nil
}

func deadline(ctx context.Context) time.Time {
	end := time.Now().Add(patience)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		return d
	}
	return end
}

// generation counts the changes of all tables of the namespace.
func (l *Local) generation(ctx context.Context) (uint32, error) {
	const what = genWhat
	c, err := netlink.Dial(unix.NETLINK_NETFILTER, &netlink.Config{NetNS: l.NetNS})
	if err != nil {
		return 0, unable(what, err)
	}
	defer c.Close()
	if err := c.SetDeadline(deadline(ctx)); err != nil {
		return 0, unable(what, err)
	}
	reply, err := c.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN, Flags: netlink.Request},
		Data:   []byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, 0},
	})
	if err != nil {
		return 0, unable(what, err)
	}
	if len(reply) != 1 || len(reply[0].Data) < headerBytes {
		return 0, fmt.Errorf("%s: %d answers came", what, len(reply))
	}
	ad, err := netlink.NewAttributeDecoder(reply[0].Data[headerBytes:])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	for ad.Next() {
		if ad.Type() == unix.NFTA_GEN_ID {
			return ad.Uint32(), nil
		}
	}
	return 0, fmt.Errorf("%s: the answer has none (%w)", what, errors.Join(ad.Err(), fs.ErrInvalid))
}

// headerBytes is nfgenmsg, before the attributes.
const headerBytes = 4

// genWhat is asked first of all; a kernel without nf_tables does not know the words.
const genWhat = "ask nftables for its generation"

// unable tells what this machine cannot do from what went wrong this once.
func unable(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: %s: %w; it needs the capability CAP_NET_ADMIN", ErrUnable, what, err)
	case errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EINVAL) && what == genWhat:
		return fmt.Errorf("%w: %s: %w; it needs a kernel with nf_tables", ErrUnable, what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
