package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// What an idle container uses.
const (
	idleMemory = 8 // MiB
	idleCPU    = 0.5
)

// Resources implements provider.Provider.
func (p *Provider) Resources(ctx context.Context, instance id.ID) (*provider.ResourceUsage, error) {
	_, all, err := p.observe(ctx, instance)
	if err != nil {
		return nil, fmt.Errorf("resources of instance %s: %w", instance, err)
	}
	use := &provider.ResourceUsage{}
	for _, s := range all {
		if s.state != running {
			continue
		}
		cpu := idleCPU + 100*float64(s.burning)
		if limit := float64(s.size.CPUMillis) / 10; limit > 0 {
			cpu = min(cpu, limit)
		}
		use.CPUPercent += cpu
		use.MemoryUsedMB += idleMemory + s.taken
		use.MemoryLimitMB += s.size.MemoryMB
	}
	return use, nil
}

// Container is one container that runs, as Inspect tells it.
type Container struct {
	ID, Service string
	Replica     int
	CPUMillis   int
	MemoryMB    int
	PidsLimit   int64
	Labels      map[string]string
}

// Inspect tells the containers of an instance that run.
func (c *Cluster) Inspect(instance id.ID) []Container {
	var out []Container
	for _, o := range c.of(instance) {
		s := o.look()
		if s.state == running {
			one := Container{
				ID: s.id, Service: s.service, Replica: s.group.replica, CPUMillis: s.size.CPUMillis, MemoryMB: s.size.MemoryMB,
				Labels: withLabels(s.labels, nil, nil),
			}
			if s.spec.Security != nil {
				one.PidsLimit = s.spec.Security.PidsLimit
			}
			out = append(out, one)
		}
	}
	return out
}

// Exec implements provider.Provider.
func (p *Provider) Exec(ctx context.Context, instance id.ID, req provider.ExecRequest) (*provider.ExecResult, error) {
	res, err := p.exec(ctx, instance, req)
	if err != nil {
		return nil, fmt.Errorf("exec in instance %s: %w", instance, err)
	}
	return res, nil
}

func (p *Provider) exec(ctx context.Context, instance id.ID, req provider.ExecRequest) (*provider.ExecResult, error) {
	if !p.can(provider.CapExec) {
		return nil, fmt.Errorf("%w: exec", provider.ErrNotSupported)
	}
	rec, all, err := p.observe(ctx, instance)
	if err != nil {
		return nil, err
	}
	if len(req.Command) == 0 {
		return nil, fmt.Errorf("%w: there is no command", provider.ErrInvalid)
	}
	m, service, err := p.shown(rec, all, req.ServiceName, req.Replica)
	if err != nil {
		return nil, err
	}
	var best *seen
	for replica := range rec.Replicas {
		s, ok := m.group(replica).find(service)
		if !ok || s.state != running || req.Replica != nil && *req.Replica != replica {
			continue
		}
		if best == nil || s.health.ready && !best.health.ready {
			best = &s
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%w: no container of %s runs", provider.ErrNotReady, service)
	}
	if _, err := p.wire.ask(ctx, read, "exec in "+best.name); err != nil {
		return nil, err
	}
	return p.cluster.exec(ctx, best.container, req)
}

// shown are the members of the release that Status shows, and the service that was
// meant. One that is not there is provider.ErrNotFound.
func (p *Provider) shown(rec *record, all []seen, service string, replica *int) (members, string, error) {
	release, turn := rec.Serving, rec.ServingTurn
	if release.IsNil() {
		release, turn = rec.Target, rec.Turn
	}
	m := p.members(rec, release, turn, all)
	if service == "" {
		if main := mainOf(m.services); main != nil {
			service = main.Name
		}
	}
	if m.spec(service) == nil {
		return m, "", fmt.Errorf("%w: service %q", provider.ErrNotFound, service)
	}
	if replica != nil && (*replica < 0 || *replica >= rec.Replicas) {
		return m, "", fmt.Errorf("%w: replica %d of service %s", provider.ErrNotFound, *replica, service)
	}
	return m, service, nil
}

// Logs implements provider.Provider.
func (p *Provider) Logs(ctx context.Context, instance id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
	if err := p.mayLog(ctx, instance, opts); err != nil {
		return nil, fmt.Errorf("logs of instance %s: %w", instance, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	return &logStream{p: p, ctx: ctx, cancel: cancel, instance: instance, opts: opts, next: map[*container]int{}, first: true}, nil
}

func (p *Provider) mayLog(ctx context.Context, instance id.ID, opts provider.LogOptions) error {
	if !p.can(provider.CapLogs) {
		return fmt.Errorf("%w: logs", provider.ErrNotSupported)
	}
	rec, all, err := p.observe(ctx, instance)
	if err != nil {
		return err
	}
	_, _, err = p.shown(rec, all, opts.ServiceName, opts.Replica)
	return err
}

// logStream reads lines when it is read. It has no goroutine.
type logStream struct {
	p        *Provider
	ctx      context.Context
	cancel   context.CancelFunc
	instance id.ID
	opts     provider.LogOptions

	mu    sync.Mutex
	next  map[*container]int // the number of the next line
	first bool
	rest  []byte
}

var errEnd = errors.New("memory: the stream has ended")

// Read implements io.Reader.
func (s *logStream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.rest) == 0 {
		changed := s.p.cluster.change()
		err := s.fill()
		switch {
		case errors.Is(err, errEnd):
			return 0, io.EOF
		case err != nil:
			return 0, err
		case len(s.rest) > 0:
		case !s.opts.Follow:
			return 0, io.EOF
		default:
			select {
			case <-changed:
			case <-s.ctx.Done():
				return 0, io.EOF
			}
		}
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *logStream) Close() error {
	s.cancel()
	return nil
}

// fill takes in the lines that are new.
func (s *logStream) fill() error {
	if s.ctx.Err() != nil {
		return errEnd
	}
	rec, err := s.p.load(s.ctx, s.instance)
	all := s.p.cluster.of(s.instance)
	if errors.Is(err, provider.ErrNotFound) {
		var looks []seen
		for _, o := range all {
			looks = append(looks, o.look())
		}
		if rec = fromLabels(looks); rec == nil {
			return errEnd
		}
	} else if err != nil {
		return err
	}
	service := s.opts.ServiceName
	if main := mainOf(rec.services(rec.Target)); service == "" && main != nil {
		service = main.Name
	}
	var lines []provider.LogLine
	for _, o := range all {
		if o.service != service || s.opts.Replica != nil && *s.opts.Replica != o.group.replica {
			continue
		}
		lines = append(lines, s.of(o)...)
	}
	s.first = false
	slices.SortStableFunc(lines, func(a, b provider.LogLine) int { return a.Time.Compare(b.Time) })
	for _, line := range lines {
		if s.rest, err = provider.AppendLogLine(s.rest, line); err != nil {
			return err
		}
	}
	return nil
}

// of are the new lines of one container.
func (s *logStream) of(o *container) []provider.LogLine {
	lines, next := o.log.from(s.next[o])
	s.next[o] = next
	lines = slices.DeleteFunc(lines, func(l provider.LogLine) bool { return l.Time.Before(s.opts.Since) })
	if n := s.opts.Tail; s.first && n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines
}
