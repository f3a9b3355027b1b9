package workloads

import (
	"context"
	"io"
	"slices"

	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/dispatch"
)

// Logs calls fn for each line of a service, the backlog in order and then, when opts
// follows, new lines as they come. The tail is that of all containers together. It
// returns nil at the end, fn's error, or the context's.
func (s *Service) Logs(ctx context.Context, name string, opts provider.LogOptions, fn func(provider.LogLine) error) error {
	r, err := s.reachable(ctx, name, opts.ServiceName)
	if err != nil {
		return err
	}
	ctx, t, _, err := s.target(ctx, r)
	if err != nil {
		return s.said(ctx, r, err)
	}
	if opts.Tail > 0 {
		last, err := s.tail(ctx, r, t, opts)
		if err != nil {
			return err
		}
		for _, line := range last {
			if err := fn(line); err != nil {
				return err
			}
		}
		if !opts.Follow {
			return nil
		}
		// What comes after the last of them; after none, all that comes.
		if opts.Tail = 0; len(last) > 0 {
			opts.Since = last[len(last)-1].Time.Add(1)
		}
	}
	return s.lines(ctx, r, t, opts, fn)
}

// tail is the last lines of all containers, in the order of time. The provider counts
// those of each container.
func (s *Service) tail(ctx context.Context, r row, t dispatch.Target, opts provider.LogOptions) ([]provider.LogLine, error) {
	opts.Follow = false
	var last []provider.LogLine
	most := func(n int) {
		slices.SortStableFunc(last, func(a, b provider.LogLine) int { return a.Time.Compare(b.Time) })
		last = slices.Delete(last, 0, max(len(last)-n, 0))
	}
	err := s.lines(ctx, r, t, opts, func(line provider.LogLine) error {
		if last = append(last, line); len(last) >= 2*opts.Tail {
			most(opts.Tail)
		}
		return nil
	})
	most(opts.Tail)
	return last, err
}

// lines calls fn for each line that the provider has.
func (s *Service) lines(ctx context.Context, r row, t dispatch.Target, opts provider.LogOptions, fn func(provider.LogLine) error) error {
	stream, err := t.Logs(ctx, r.ID, opts)
	if err != nil {
		return s.said(ctx, r, err)
	}
	defer func() { _ = stream.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = stream.Close() })
	defer stop()
	for line, err := range provider.DecodeLogs(stream) {
		if err == nil {
			err = fn(line)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Exec runs a command in a container and waits for it; its output goes to the
// writers of the request.
func (s *Service) Exec(ctx context.Context, name string, req provider.ExecRequest) (int, error) {
	r, err := s.reachable(ctx, name, req.ServiceName)
	if err != nil {
		return 0, err
	}
	ctx, t, _, err := s.target(ctx, r)
	if err != nil {
		return 0, s.said(ctx, r, err)
	}
	if req.Stdout == nil {
		req.Stdout = io.Discard
	}
	if req.Stderr == nil {
		req.Stderr = io.Discard
	}
	res, err := t.Exec(ctx, r.ID, req)
	if err != nil {
		return 0, s.said(ctx, r, err)
	}
	return res.ExitCode, nil
}

// Find refuses a name, or a service, that does not exist.
func (s *Service) Find(ctx context.Context, name, service string) error {
	_, err := s.reachable(ctx, name, service)
	return err
}

func (s *Service) reachable(ctx context.Context, name, service string) (row, error) {
	r, err := s.row(ctx, name)
	if err != nil {
		return r, err
	}
	if _, ok := r.Shape.Services[service]; service != "" && !ok {
		return r, noService(r, service)
	}
	return r, nil
}
