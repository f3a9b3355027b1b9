package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// sizeTimeout bounds the wait for a terminal's size.
const sizeTimeout = 20 * time.Second

func printStat(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	sys := info.Sys().(*syscall.Stat_t)
	fmt.Printf("%o %d %d\n", info.Mode().Perm(), sys.Uid, sys.Gid)
	return nil
}

// again fails the first time.
func again(path string) error {
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
		fmt.Println("not this time")
		os.Exit(1)
	}
	return err
}

func count(path string) error {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fmt.Println("run", len(data)+1)
	return os.WriteFile(path, append(data, '.'), 0o644)
}

func less(n, path string) error {
	most, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if len(data) >= most {
		fmt.Println("it has run", len(data), "times already")
		os.Exit(1)
	}
	return err
}

func get(url string) error {
	c := http.Client{Timeout: 10 * time.Second}
	resp, err := c.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}

// dialler tells what can be reached from inside.
func dialler(port string) error {
	l, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return err
	}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, err := dial(r.URL.Query().Get("network"), r.URL.Query().Get("to"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, said)
	})}
	go srv.Serve(l)
	return nil
}

// dial asks like a browser where nobody speaks first.
func dial(network, to string) (string, error) {
	if network == "" {
		return "nobody was to be dialled", nil
	}
	const patience = time.Second
	c, err := net.DialTimeout(network, to, patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return "", err
	}
	buf := make([]byte, 1024)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

// awaitSize looks again and again: the signal of a change may come before
// anybody listens for it.
func awaitSize(want string) error {
	for deadline := time.Now().Add(sizeTimeout); ; time.Sleep(10 * time.Millisecond) {
		got, err := terminalSize()
		if err != nil {
			return err
		}
		if got == want {
			fmt.Println(got)
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("it is " + got)
		}
	}
}

func terminalSize() (string, error) {
	var size struct{ rows, cols, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, os.Stdin.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return "", errno
	}
	return fmt.Sprintf("%dx%d", size.cols, size.rows), nil
}
