package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/controlclient"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

// The processor time of a request in the other proxy divided by that in ours.
const (
	minCaddyRatio = 1.5
	minNginxRatio = 0.6
)

const (
	loadRate   = 1000 // requests a second, well below what any of them can do
	loadTime   = 3 * time.Second
	loadRounds = 5
	answerSize = 1 << 10
	proxyHost  = "proxy.localhost"
)

// rival is a proxy that is measured if it is installed.
type rival struct {
	name    string
	minimum float64
	start   func(ctx context.Context, binary, dir, listen, upstream string) (*exec.Cmd, error)
}

var rivals = []rival{{"caddy", minCaddyRatio, startCaddy}, {"nginx", minNginxRatio, startNginx}}

// contender is a running proxy.
type contender struct {
	name, address string
	cmd           *exec.Cmd
	minimum       float64
	perRequest    []time.Duration
	switches      []float64
}

// measureProxy gives our proxy and those that are installed the same requests
// at the same rate, in turns, and counts the processor time of each.
func measureProxy(ctx context.Context, o options) (_ []line, err error) {
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	upstream, stop, err := answerAll(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	all, err := startAll(ctx, o, dir, upstream)
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.stop())
		}
	}()
	if err != nil {
		return nil, err
	}
	for round := range loadRounds + 1 {
		for i := range all {
			c := all[(round+i)%len(all)]
			spent, err := c.load(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 { // the first warms connections and caches
				c.perRequest, c.switches = append(c.perRequest, spent.time), append(c.switches, spent.switches)
			}
		}
	}
	return compare(all), nil
}

// compare makes a line for each but the first, which is ours.
func compare(all []*contender) []line {
	ours := all[0]
	per := median(ours.perRequest)
	lines := []line{{
		What: "proxy processor time per request", Value: float64(per.Nanoseconds()) / 1e3, Format: "%.1f µs",
		Detail: fmt.Sprintf("%d requests/s, %d bytes, keep-alive on both sides; median of %d rounds of %s; a thread of it goes to sleep %.1f times a request", loadRate, answerSize, loadRounds, loadTime, median(ours.switches)),
	}}
	for _, c := range all[1:] {
		var ratios []float64
		for i := range c.perRequest {
			ratios = append(ratios, float64(c.perRequest[i])/float64(ours.perRequest[i]))
		}
		lines = append(lines, line{
			What: "the same of " + c.name + ", divided by ours", Value: median(ratios), Format: "%.2f", Target: c.minimum, AtLeast: true,
			Detail: fmt.Sprintf("%s: %.1f µs a request and %.1f sleeps; in turns with ours", c.name, float64(median(c.perRequest).Nanoseconds())/1e3, median(c.switches)),
		})
	}
	return lines
}

// startAll starts ours and every rival that is installed. What it returns has
// to be stopped, also after an error.
func startAll(ctx context.Context, o options, dir, upstream string) ([]*contender, error) {
	ours, err := startOurs(ctx, o, dir, upstream)
	all := []*contender{ours}
	if err != nil {
		return all, err
	}
	for _, r := range rivals {
		binary, err := exec.LookPath(r.name)
		if err != nil {
			fmt.Printf("%s is not installed and not measured\n", r.name)
			continue
		}
		own := filepath.Join(dir, r.name)
		if err := os.Mkdir(own, 0o700); err != nil {
			return all, err
		}
		c := &contender{name: r.name, minimum: r.minimum}
		if c.address, err = freeAddress(ctx); err != nil {
			return all, err
		}
		if c.cmd, err = r.start(ctx, binary, own, c.address, upstream); err != nil {
			return all, err
		}
		all = append(all, c)
		if err := c.start(ctx); err != nil {
			return all, err
		}
	}
	return all, nil
}

// start runs the command in a group of its own and waits for an answer.
func (c *contender) start(ctx context.Context) error {
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		c.cmd = nil
		return err
	}
	site := newSite("http://"+c.address+"/", proxyHost)
	defer site.close()
	if err := site.await(ctx, ""); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// stop asks the process to end, and kills its group if it does not.
func (c *contender) stop() error {
	if c == nil || c.cmd == nil {
		return nil
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(stopTime, func() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) })
	defer kill.Stop()
	_ = c.cmd.Wait() // how it ends is its own affair
	return nil
}

func startOurs(ctx context.Context, o options, dir, upstream string) (*contender, error) {
	c := &contender{name: "berth-node"}
	var err error
	if c.address, err = freeAddress(ctx); err != nil {
		return c, err
	}
	control := filepath.Join(dir, "control.sock")
	c.cmd = exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(o.bin, "berth-node"), "ingress",
		"--dir", filepath.Join(dir, "ingress"), "--control", control, "--http", c.address)
	if err := c.cmd.Start(); err != nil {
		c.cmd = nil
		return c, fmt.Errorf("%w; run make build first", err)
	}
	plane := controlclient.New(control)
	defer plane.Close()
	for {
		if _, err = plane.Hello(ctx); err == nil {
			break
		}
		if !pause(ctx, 20*time.Millisecond) {
			return c, err
		}
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return c, err
	}
	_, err = plane.Push(ctx, table.Table{
		Protocol: table.Protocol, Owner: table.OwnerServer, Version: 1, BootID: strings.TrimSpace(string(boot)),
		Routes: []table.Route{{Service: "bench", Hosts: []string{proxyHost}, Path: "/", Targets: []table.Target{{ID: "bench", Address: upstream}}}},
	})
	return c, err
}

func startNginx(ctx context.Context, binary, dir, listen, upstream string) (*exec.Cmd, error) {
	conf := filepath.Join(dir, "nginx.conf")
	temp := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += kind + "_temp_path " + filepath.Join(dir, kind) + "; "
	}
	text := `daemon off; master_process off; worker_processes 1; error_log ` + filepath.Join(dir, "error.log") + `; pid ` + filepath.Join(dir, "pid") + `;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000; ` + temp + `
  upstream bench { server ` + upstream + `; keepalive 64; keepalive_requests 1000000; }
  server {
    listen ` + listen + `;
    location / {
      proxy_pass http://bench; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
    }
  }
}
`
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return exec.CommandContext(context.WithoutCancel(ctx), binary, "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", conf), nil
}

func startCaddy(ctx context.Context, binary, dir, listen, upstream string) (*exec.Cmd, error) {
	conf := filepath.Join(dir, "Caddyfile")
	text := "{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\nhttp://" + listen + ", http://" + proxyHost + ":" + listen[strings.LastIndexByte(listen, ':')+1:] +
		" {\n\tbind 127.0.0.1\n\treverse_proxy " + upstream + " {\n\t\ttransport http {\n\t\t\tkeepalive_idle_conns_per_host 64\n\t\t}\n\t}\n}\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), binary, "run", "--config", conf, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	return cmd, nil
}
