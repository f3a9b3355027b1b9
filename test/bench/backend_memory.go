package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/berth-cloud/berth/backend"
)

const (
	heldLeases = 10_000
	holdTime   = 4 * time.Minute
)

// measureMemory has a process of its own hold leases that are ready.
func measureMemory(ctx context.Context, o options) ([]line, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, holdTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-hold", strconv.Itoa(o.held))
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the process that holds the leases: %w", err)
	}
	var none, all float64
	if _, err := fmt.Sscanf(string(text), "%f %f", &none, &all); err != nil {
		return nil, fmt.Errorf("the process that holds the leases says %q: %w", text, err)
	}
	const kb = 1000 // of an MB
	return []line{{
		What: fmt.Sprintf("backend, memory of a hosting with %d leases that are ready, each", o.held), Value: (all - none) * kb / float64(o.held), Format: "%.1f kB",
		Detail: fmt.Sprintf("VmRSS %.0f MB, and %.0f MB without leases; on the memory provider and store, whose containers, records and manifests are in it", all, none),
	}}, nil
}

// hold leases until all are ready, and tell the memory before and with them.
func hold(ctx context.Context, n int) error {
	h, err := newHouse(ctx)
	if err != nil {
		return err
	}
	defer h.cluster.Close()
	none, err := settledRSS()
	if err != nil {
		return err
	}
	if err := h.lease(ctx, 0, n); err != nil {
		return err
	}
	if err := h.ready(ctx, n); err != nil {
		return err
	}
	all, err := settledRSS()
	if err != nil {
		return err
	}
	fmt.Println(strings.TrimSpace(fmt.Sprintf("%.3f %.3f", none, all)))
	return nil
}

// settledRSS is the memory of this process once what it does not need is given back.
func settledRSS() (float64, error) {
	debug.FreeOSMemory()
	return rss(os.Getpid())
}

// ready makes steps of the leases until all are.
func (h *house) ready(ctx context.Context, n int) error {
	due := make([]time.Time, n)
	for left := n; left > 0; {
		left = 0
		for i := range n {
			info, err := h.hosting.GetProvision(ctx, leaseID(i))
			switch {
			case err != nil:
				return err
			case info.Status == backend.ProvisionStatusReady:
				continue
			case info.Status == backend.ProvisionStatusFailed:
				return errors.New("lease " + leaseID(i) + " failed: " + info.Message)
			}
			left++
			if time.Now().Before(due[i]) {
				continue
			}
			again, err := h.hosting.Step(ctx, leaseID(i))
			if err != nil {
				return err
			}
			due[i] = time.Now().Add(min(again, time.Second))
		}
		if !pause(ctx, 10*time.Millisecond) {
			return fmt.Errorf("%d of %d leases are not ready: %w", left, n, ctx.Err())
		}
	}
	// Their callbacks are sent by the step after.
	for i := range n {
		if _, err := h.hosting.Step(ctx, leaseID(i)); err != nil {
			return err
		}
	}
	return nil
}
