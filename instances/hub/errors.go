package hub

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/berth-cloud/berth/instances/wire"
)

// Why a dial came to nothing. Each comes within a *net.OpError, as of any dialer.
var (
	// ErrOffline: the machine is not connected, or was lost meanwhile.
	ErrOffline = errors.New("the machine is not connected")
	// ErrNoAnswer: its agent did nothing about it in time.
	ErrNoAnswer = errors.New("the machine's agent did not answer in time")
	// ErrRefused: the agent does not do that for this hub.
	ErrRefused = errors.New("the machine's agent refused")
	// ErrUnreachable: on the machine, nobody answers there.
	ErrUnreachable = errors.New("nobody answers there on the machine")
	// ErrBusy: as many connections through this machine as there may be stand already.
	ErrBusy = errors.New("too many connections through the machine")
	// ErrTarget: what was asked for is no target of a dial.
	ErrTarget = errors.New("not a target that a machine can dial")
)

// target names where a dial led, in errors.
type target struct {
	instance string
	kind     wire.Kind
	address  string
}

func (target) Network() string { return "berth" }

func (t target) String() string {
	if t.address == "" {
		return t.instance + "/" + string(t.kind)
	}
	return t.instance + "/" + t.address
}

func failed(t target, err error) error {
	return &net.OpError{Op: "dial", Net: t.Network(), Addr: t, Err: err}
}

// told is what an agent's refusal means.
func told(code, text string) error {
	switch code {
	case wire.DialUnreachable:
		return fmt.Errorf("%w: %s", ErrUnreachable, text)
	case wire.DialBusy:
		return fmt.Errorf("%w: %s", ErrBusy, text)
	}
	return fmt.Errorf("%w: %s", ErrRefused, text)
}

// late tells a hub's own deadline from the caller's.
func late(caller context.Context) error {
	if err := caller.Err(); err != nil {
		return err
	}
	return ErrNoAnswer
}
