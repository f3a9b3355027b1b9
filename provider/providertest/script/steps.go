package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// output is where a step prints: the container's streams, or an answer.
type output struct{ out, err io.Writer }

// patience bounds a connection that a step makes.
const patience = 5 * time.Second

// perform takes one step.
func (r *runner) perform(w output, step string) error {
	name, arg := cut(step)
	if f, ok := steps()[name]; ok {
		return f(r, w, arg)
	}
	return errors.New("there is no such step")
}

// steps are by name. Run tells what each does.
func steps() map[string]func(*runner, output, string) error {
	return map[string]func(*runner, output, string) error{
		"out":   func(_ *runner, w output, arg string) error { return say(w.out, arg) },
		"err":   func(_ *runner, w output, arg string) error { return say(w.err, arg) },
		"lines": (*runner).lines, "long": (*runner).long,
		"env": (*runner).env, "args": (*runner).args,
		"hostname": func(r *runner, w output, _ string) error { return say(w.out, r.Hostname()) },
		"user":     func(r *runner, w output, _ string) error { return say(w.out, r.User()) },
		"pwd":      func(r *runner, w output, _ string) error { return say(w.out, r.WorkingDir()) },
		"tty":      func(r *runner, w output, _ string) error { return say(w.out, r.size()) },
		"resized":  (*runner).resized,
		"cat":      func(r *runner, w output, _ string) error { _, err := io.Copy(w.out, r.Stdin()); return err },
		"read":     (*runner).read, "mode": (*runner).mode, "write": (*runner).write, "append": (*runner).appendLine,
		"hold": (*runner).hold, "listen": (*runner).listen, "dial": (*runner).dial, "fetch": (*runner).fetch,
		"sleep": (*runner).pause, "wait": (*runner).wait,
		"ignore":    func(r *runner, _ output, _ string) error { r.IgnoreStop(); return nil },
		"unhealthy": func(r *runner, _ output, _ string) error { r.unhealthy.Store(true); return nil },
		"healthy":   func(r *runner, _ output, _ string) error { r.unhealthy.Store(false); return nil },
		"burn":      func(r *runner, _ output, _ string) error { go r.Burn(r.ctx); return nil },
		"eat":       number(func(r *runner, n int) { r.TakeMemory(n) }),
		"exit":      number((*runner).exit),
	}
}

func number(f func(*runner, int)) func(*runner, output, string) error {
	return func(r *runner, _ output, arg string) error {
		n, err := strconv.Atoi(arg)
		if err == nil {
			f(r, n)
		}
		return err
	}
}

func say(w io.Writer, text string) error {
	_, err := io.WriteString(w, text+"\n")
	return err
}

func (r *runner) lines(w output, arg string) error {
	n, err := strconv.Atoi(arg)
	for i := range n {
		to := w.out
		if i%2 == 1 {
			to = w.err
		}
		if err := say(to, "line "+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return err
}

// long prints a line whose every byte tells its place.
func (r *runner) long(w output, arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	return say(w.out, LongLine(n))
}

// LongLine is the line of n bytes that the step "long" prints.
func LongLine(n int) string {
	line := make([]byte, n)
	for i := range line {
		line[i] = 'a' + byte(i%26)
	}
	return string(line)
}

func (r *runner) env(w output, name string) error {
	value, ok := r.LookupEnv(name)
	if !ok {
		return fmt.Errorf("%s is not set", name)
	}
	return say(w.out, value)
}

func (r *runner) args(w output, _ string) error { return json.NewEncoder(w.out).Encode(r.Args()) }

func (r *runner) size() string {
	cols, rows, ok := r.Terminal()
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%dx%d", cols, rows)
}

func (r *runner) resized(w output, want string) error {
	for range 500 {
		if r.size() == want {
			return say(w.out, want)
		}
		if !r.sleep(10 * time.Millisecond) {
			return r.ctx.Err()
		}
	}
	return fmt.Errorf("it is %s", r.size())
}

func (r *runner) read(w output, path string) error {
	data, err := r.ReadFile(path)
	if err == nil {
		_, err = w.out.Write(data)
	}
	return err
}

func (r *runner) mode(w output, path string) error {
	mode, err := r.Mode(path)
	if err != nil {
		return err
	}
	return say(w.out, strconv.FormatUint(uint64(mode.Perm()), 8))
}

func (r *runner) write(_ output, arg string) error {
	path, text := cut(arg)
	return r.WriteFile(path, []byte(text))
}

func (r *runner) appendLine(_ output, arg string) error {
	path, text := cut(arg)
	old, err := r.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.WriteFile(path, append(old, text+"\n"...))
}

func (r *runner) dial(_ output, address string) error {
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	conn, err := r.Dial(ctx, address)
	if err == nil {
		err = conn.Close()
	}
	return err
}

func (r *runner) fetch(w output, url string) error {
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	c := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return r.Dial(ctx, address) },
	}}
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(body)))
	}
	if err == nil {
		_, err = w.out.Write(body)
	}
	return err
}

func (r *runner) pause(_ output, arg string) error {
	d, err := time.ParseDuration(arg)
	if err == nil {
		r.sleep(d)
	}
	return err
}

func (r *runner) wait(w output, _ string) error {
	select {
	case <-r.Stopped():
		return say(w.out, "stopping")
	case <-r.ctx.Done():
		return nil
	}
}
