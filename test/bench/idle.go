package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxIdleMB is the memory of a control plane and a data plane without apps.
const maxIdleMB = 60

// measureIdle reads the memory of a daemon that has nothing to do.
func measureIdle(ctx context.Context, o options) (_ []line, err error) {
	b, err := startBerth(ctx, o)
	defer func() { err = errors.Join(err, b.stop()) }()
	if err != nil {
		return nil, err
	}
	if !pause(ctx, o.settle) {
		return nil, ctx.Err()
	}
	server, err := rss(b.server.Process.Pid)
	if err != nil {
		return nil, err
	}
	ingress, err := rss(b.ingress)
	if err != nil {
		return nil, err
	}
	return []line{{
		What: "idle memory, server and ingress, no apps", Value: server + ingress, Format: "%.1f MB", Target: maxIdleMB,
		Detail: fmt.Sprintf("%s after the start; berthd server %.1f MB, berth-node ingress %.1f MB", o.settle, server, ingress),
	}}, nil
}

// rss is VmRSS of a process in MB of 10⁶ bytes.
func rss(pid int) (float64, error) {
	text := procField(fmt.Sprintf("/proc/%d/status", pid), "VmRSS")
	kib, err := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %q", pid, text)
	}
	return kib * 1024 / 1e6, nil
}
