package workloads

import (
	"context"
	"io"

	"github.com/berth-cloud/berth/provider"
)

// Logs calls fn for each line of a service, the backlog in order and then, when opts
// follows, new lines as they come. It returns nil at the end, fn's error, or the
// context's.
func (s *Service) Logs(ctx context.Context, name string, opts provider.LogOptions, fn func(provider.LogLine) error) error {
	r, err := s.reachable(ctx, name, opts.ServiceName)
	if err != nil {
		return err
	}
	ctx, t, _, err := s.target(ctx, r)
	if err != nil {
		return s.said(ctx, r, err)
	}
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
