package qemu

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// openPort makes a port of a bridge of the host. It is there while somebody has it
// open, so with the machine it goes.
func openPort(name, bridge string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	port := os.NewFile(uintptr(fd), name)
	if err := plug(fd, name, bridge); err != nil {
		_ = port.Close()
		return nil, err
	}
	return port, nil
}

func plug(fd int, name, bridge string) error {
	req, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		return os.NewSyscallError("TUNSETIFF", err)
	}
	made, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	control, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(control)
	if req, err = unix.NewIfreq(bridge); err != nil {
		return err
	}
	req.SetUint32(uint32(made.Index))
	if err := unix.IoctlIfreq(control, unix.SIOCBRADDIF, req); err != nil {
		return os.NewSyscallError("SIOCBRADDIF", err)
	}
	if req, err = unix.NewIfreq(name); err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP)
	return os.NewSyscallError("SIOCSIFFLAGS", unix.IoctlIfreq(control, unix.SIOCSIFFLAGS, req))
}
