package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

const (
	tailLines = 100
	// loggedLines are in the log before the tail of it is read.
	loggedLines = 1000
)

// call is one operation of the floor and how a plain program does the same.
type call struct {
	what   string
	target float64
	pairs  int
	floor  func(ctx context.Context, round int) (sample, error)
	plain  func(ctx context.Context, round int) (sample, error)
}

// pairOf is one workload on the floor and one of the plain program.
type pairOf struct {
	*floor
	workload  id.ID
	group     *group
	container string // that serves of the group
}

// measureCalls measures the operations on a workload of one service.
func measureCalls(ctx context.Context, o options) ([]line, error) {
	return withFloor(ctx, o, func(f *floor) ([]line, error) { return f.measureCalls(ctx) })
}

func (f *floor) measureCalls(ctx context.Context) (_ []line, err error) {
	s := &pairOf{floor: f, workload: id.New(id.KindWorkload)}
	if err := f.provision(ctx, s.workload, []provider.ServiceSpec{web("0")}); err != nil {
		return nil, err
	}
	if s.group, err = f.plain.newGroup(ctx); err != nil {
		return nil, err
	}
	if s.container, err = s.group.serve(ctx, "web", port, "0"); err != nil {
		return nil, err
	}
	if err := s.fillLogs(ctx); err != nil {
		return nil, err
	}
	var lines []line
	for _, c := range s.calls() {
		l, err := measureCall(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		lines = append(lines, l)
	}
	if err := f.p.Deprovision(ctx, s.workload); err != nil {
		return nil, err
	}
	return lines, s.group.remove()
}

func (s *pairOf) calls() []call {
	return []call{
		{"Status", maxLookRatio, 101, s.floorStatus, s.plainStatus},
		{"Exec of a command that ends at once", maxCallRatio, 21, s.floorExec, s.plainExec},
		{fmt.Sprintf("Logs, the last %d of %d lines", tailLines, loggedLines), maxLookRatio, 101, s.floorLogs, s.plainLogs},
		{"Resources", maxCallRatio, 3, s.floorResources, s.plainResources},
		{"Stop, Start and ready again", maxCallRatio, 11, s.floorStopStart, s.plainStopStart},
		{"Provision until ready, one service", maxCallRatio, 11, s.floorProvision, s.plainProvision},
		{"Deploy until ready, one service", maxCallRatio, 11, s.floorDeploy, s.plainDeploy},
	}
}

// measureCall runs both sides in turns; the first pair does not count.
func measureCall(ctx context.Context, c call) (line, error) {
	var ratios []float64
	var floor, plain []time.Duration
	var requests, writes, plainRequests []int64
	for i := range c.pairs + 1 {
		var ours, theirs sample
		both := []func() error{
			func() (err error) { ours, err = c.floor(ctx, i); return err },
			func() (err error) { theirs, err = c.plain(ctx, i); return err },
		}
		for j := range both {
			if err := both[(i+j)%2](); err != nil {
				return line{}, err
			}
		}
		if i == 0 {
			continue
		}
		ratios = append(ratios, float64(ours.took)/float64(theirs.took))
		floor, plain = append(floor, ours.took), append(plain, theirs.took)
		requests, writes = append(requests, ours.requests), append(writes, ours.writes)
		plainRequests = append(plainRequests, theirs.requests)
	}
	return line{
		What: "provider floor, " + c.what + ": against the engine's own calls", Value: median(ratios), Format: "%.2f ×", Target: c.target,
		Detail: fmt.Sprintf("%d pairs, middle half %.2f to %.2f; medians %s and %s; %d requests to the engine against %d, %d records written",
			c.pairs, quantile(ratios, 0.25), quantile(ratios, 0.75), short(median(floor)), short(median(plain)),
			median(requests), median(plainRequests), median(writes)),
	}, nil
}

func short(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Microsecond)
}

// fillLogs has both containers print the same lines.
func (s *pairOf) fillLogs(ctx context.Context) error {
	var text strings.Builder
	for i := range loggedLines {
		fmt.Fprintf(&text, "a line of the log, number %d, about as long as one of a program\n", i)
	}
	st, err := s.p.Status(ctx, s.workload)
	if err != nil {
		return err
	}
	web, ok := st.Endpoint("web")
	if !ok {
		return fmt.Errorf("no endpoint: %+v", st)
	}
	for _, url := range []string{web.URL, fmt.Sprintf("http://%s:%d", s.group.subnet.Next().Next(), port)} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(url, "/")+"/log", strings.NewReader(text.String()))
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, res.Status)
		}
	}
	return nil
}
