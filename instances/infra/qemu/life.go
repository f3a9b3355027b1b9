package qemu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

// takeLife locks a machine's life for a process that is to inherit the file, or is
// ErrLocked when one has it. The lock belongs to what is opened here: it ends when
// the last process that inherited it does, however it ends.
func takeLife(root *os.Root) (*os.File, error) {
	life, err := root.OpenFile(lifeFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.FcntlFlock(life.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		err = hostdir.ErrLocked
	}
	if err != nil {
		_ = life.Close()
		return nil, err
	}
	return life, nil
}

// lives reports whether a process of the machine is there, without taking anything.
func lives(root *os.Root) (bool, error) {
	life, err := root.OpenFile(lifeFile, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer life.Close()
	asked := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(life.Fd(), unix.F_OFD_GETLK, &asked); err != nil {
		return false, fmt.Errorf("the lock of a machine's life: %w", err)
	}
	return asked.Type != unix.F_UNLCK, nil
}
