package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// answerAll serves the same answer to everything on loopback.
func answerAll(ctx context.Context) (address string, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	body := []byte(strings.Repeat("x", answerSize))
	s := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", strconv.Itoa(answerSize))
		_, _ = w.Write(body)
	})}
	go func() { _ = s.Serve(l) }()
	return l.Addr().String(), func() { _ = s.Close() }, nil
}

// cost is what a request costs a proxy.
type cost struct {
	time     time.Duration
	switches float64 // how often one of its threads went to sleep
}

// load sends requests at the rate and returns what each cost the proxy. A
// single failed request is an error.
func (c *contender) load(ctx context.Context) (cost, error) {
	target := vegeta.Target{Method: http.MethodGet, URL: "http://" + c.address + "/", Header: http.Header{"Host": {proxyHost}}}
	attacker := vegeta.NewAttacker(vegeta.Connections(32), vegeta.Timeout(5*time.Second))
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	pid := c.cmd.Process.Pid
	slept := switches(pid)
	before, err := usedBy(pid)
	if err != nil {
		return cost{}, err
	}
	n := 0
	for r := range attacker.Attack(vegeta.NewStaticTargeter(target), vegeta.Rate{Freq: loadRate, Per: time.Second}, loadTime, "") {
		n++
		if r.Code != http.StatusOK || len(r.Body) != answerSize {
			attacker.Stop()
			return cost{}, fmt.Errorf("status %d with %d bytes: %s", r.Code, len(r.Body), r.Error)
		}
	}
	if n == 0 {
		return cost{}, errors.New("no request was made")
	}
	after, err := usedBy(pid)
	if err != nil {
		return cost{}, err
	}
	return cost{(after - before) / time.Duration(n), (switches(pid) - slept) / float64(n)}, ctx.Err()
}

// usedBy is the time that all threads of a process ran, user and system, as
// the scheduler counts it: in nanoseconds, not in ticks of 10 ms.
func usedBy(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, fmt.Errorf("process %d is gone", pid)
	}
	var sum time.Duration
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread ended meanwhile
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %q", f, text)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// switches counts how often threads of a process gave up the processor of
// their own accord.
func switches(pid int) float64 {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid)) // the pattern is right
	var n float64
	for _, f := range files {
		v, _ := strconv.ParseFloat(procField(f, "voluntary_ctxt_switches"), 64) // 0 for a thread that ended
		n += v
	}
	return n
}
