package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// path is where the programs of a machine find others.
const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }

// launch starts the first process of the machine in folder, which goes on only
// once it is recorded: killed at any moment, a launcher leaves a machine that is
// known, or none.
func launch(folder string, lock *os.File) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	var spec Spec
	if err := ReadJSON(root, SpecFile, &spec); err != nil {
		return err
	}
	log, err := root.OpenFile(LogDir+"/init.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	wait, release, err := os.Pipe()
	if err != nil {
		return err
	}
	defer release.Close()

	// The first process is started from this thread, and so is in its network.
	runtime.LockOSThread()
	if err := enterNetwork(spec.Netns); err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), self, append(os.Args[1:len(os.Args)-2:len(os.Args)-2], "init", folder)...)
	cmd.Env = []string{path}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock, wait}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	err = cmd.Start()
	wait.Close()
	if err != nil {
		return fmt.Errorf("start the machine's first process: %w", err)
	}
	p, err := Identify(cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := WriteJSON(root, ProcessFile, p); err != nil {
		return err
	}
	if _, err := release.Write([]byte{1}); err != nil {
		return fmt.Errorf("the machine's first process has ended, its log says why: %w", err)
	}
	return nil
}

func enterNetwork(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter %s: %w", path, err)
	}
	return nil
}
