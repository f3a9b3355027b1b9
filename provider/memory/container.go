package memory

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// runState is where a container is.
type runState int

const (
	created runState = iota
	running
	exited
)

// group tells the replicas of the releases of an instance apart.
type group struct {
	release id.ID
	turn    int // counts the times that the release was begun anew
	replica int
}

// container is one container. What is set when it is made does not change but for
// the limits in spec; the rest is under the cluster's lock.
type container struct {
	cluster  *Cluster
	id, name string
	instance id.ID
	group    group
	service  string
	main     bool
	workload string // the name of the instance in its network
	network  string
	tenant   string
	labels   map[string]string
	spec     provider.ServiceSpec
	image    Image
	env      map[string]string
	mounts   []mount
	root     fileset
	address  netip.Addr
	log      logbook
	madeAt   time.Time

	state     runState
	process   *process
	startedAt time.Time
	endedAt   time.Time
	exit      int
	oom       bool
	restarts  int
	askedAt   time.Time // when it was told to end, zero when it was not
	failure   string    // why it could not start
	health    health
}

// process is one run of a container.
type process struct {
	ctx     context.Context
	cancel  context.CancelFunc
	stop    chan struct{}
	ignored bool
	burning int
	taken   int // MiB
}

// add makes a container known. It is an error when one has its name.
func (c *Cluster) add(o *container) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	for _, other := range c.containers {
		if other.name == o.name {
			return fmt.Errorf("%w: %s", errExists, o.name)
		}
	}
	for _, m := range o.mounts {
		if m.kept != nil && c.kept[m.kept.keptKey] != m.kept {
			return fmt.Errorf("%w: volume %s was removed meanwhile", provider.ErrUnavailable, m.kept.id)
		}
	}
	c.made++
	o.cluster, o.id, o.address, o.madeAt = c, fmt.Sprintf("memory-%06d", c.made), c.addressLocked(), c.now()
	c.containers = append(c.containers, o)
	c.signalLocked(o.instance)
	return nil
}

// start runs a container that does not run.
func (o *container) start() error {
	c := o.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	if o.state == running || o.waitsForLocked() != "" {
		return nil
	}
	if o.state == exited && o.askedAt.IsZero() {
		o.restarts++
	}
	o.startLocked()
	return nil
}

func (o *container) startLocked() {
	c := o.cluster
	ctx, cancel := context.WithCancel(context.Background())
	proc := &process{ctx: ctx, cancel: cancel, stop: make(chan struct{})}
	o.state, o.process, o.startedAt, o.askedAt, o.oom, o.health = running, proc, c.now(), time.Time{}, false, health{}
	program, args, failure := o.program()
	if failure == "" {
		failure = o.publishLocked()
	}
	o.failure = failure
	if failure != "" {
		cancel()
		o.endLocked(proc, provider.ExitNotFound)
		return
	}
	p := &Process{
		container: o, process: proc, args: args, env: o.env, user: o.spec.User, dir: o.spec.WorkingDir,
		stdin: noInput{}, stdout: o.log.stream(o, provider.LogStdout), stderr: o.log.stream(o, provider.LogStderr),
	}
	c.running.Go(func() {
		code := program(ctx, p)
		cancel()
		p.flush()
		c.mu.Lock()
		defer c.mu.Unlock()
		o.endLocked(proc, code)
	})
	c.signalLocked(o.instance)
}

// program is what the container runs.
func (o *container) program() (Program, []string, string) {
	entry, args := o.image.Entrypoint, o.image.Command
	if len(o.spec.Command) > 0 {
		entry, args = o.spec.Command, nil
	}
	if len(o.spec.Args) > 0 {
		args = o.spec.Args
	}
	line := slices.Concat(entry, args)
	if len(line) == 0 {
		return nil, nil, "there is no command"
	}
	program := o.image.Programs[line[0]]
	if program == nil {
		return nil, nil, line[0] + ": no such file or directory"
	}
	return program, line[1:], ""
}

// endLocked notes that a run is over, unless another one began.
func (o *container) endLocked(proc *process, code int) {
	if o.process != proc || o.state != running {
		return
	}
	o.state, o.endedAt, o.exit, o.health = exited, o.cluster.now(), code, health{}
	for at, l := range o.cluster.listeners {
		if at.Addr() == o.address {
			delete(o.cluster.listeners, at)
			l.shut()
		}
	}
	for at, inside := range o.cluster.published {
		if inside.Addr() == o.address {
			delete(o.cluster.published, at)
		}
	}
	o.cluster.signalLocked(o.instance)
}

// killLocked ends a run at once. The program's goroutine follows.
func (o *container) killLocked(code int, oom bool) {
	if o.state != running {
		return
	}
	o.oom = oom
	o.process.cancel()
	o.endLocked(o.process, code)
}

// ask tells a container to end, once.
func (o *container) ask() {
	c := o.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.state != running || !o.askedAt.IsZero() {
		return
	}
	o.askedAt = c.now()
	if !o.process.ignored {
		close(o.process.stop)
	}
	c.signalLocked(o.instance)
}

func (o *container) kill() {
	o.cluster.mu.Lock()
	defer o.cluster.mu.Unlock()
	o.killLocked(exitKilled, false)
}

// again kills a container and starts it in its place.
func (o *container) again() {
	o.cluster.mu.Lock()
	defer o.cluster.mu.Unlock()
	if o.cluster.closed {
		return
	}
	o.killLocked(exitKilled, false)
	if o.waitsForLocked() != "" {
		return // it had ended meanwhile
	}
	o.restarts++
	o.startLocked()
}

// remove forgets a container, killed if it runs.
func (o *container) remove() {
	c := o.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	o.killLocked(exitKilled, false)
	c.containers = slices.DeleteFunc(c.containers, func(other *container) bool { return other == o })
	c.signalLocked(o.instance)
}

// limit changes the size of a container that may run.
func (o *container) limit(size provider.ResourceSpec) {
	o.cluster.mu.Lock()
	defer o.cluster.mu.Unlock()
	o.spec.Resources.CPUMillis, o.spec.Resources.MemoryMB = size.CPUMillis, size.MemoryMB
	o.cluster.signalLocked(o.instance)
}

// firstHostPort is the first port that the host gives when none was asked for.
const firstHostPort = 32768

// publishLocked opens the ports of the host, or says why not.
func (o *container) publishLocked() string {
	c := o.cluster
	for i, port := range o.spec.Ports {
		if !port.Published() {
			continue
		}
		host, err := netip.ParseAddr(port.HostAddress())
		if err != nil {
			return err.Error()
		}
		at := netip.AddrPortFrom(host, uint16(port.Host))
		for free := firstHostPort; port.Host == 0; free++ {
			at = netip.AddrPortFrom(host, uint16(free))
			if _, taken := c.published[at]; !taken {
				break
			}
		}
		if _, taken := c.published[at]; taken {
			return fmt.Sprintf("port %s of the host is in use", at)
		}
		c.published[at] = netip.AddrPortFrom(o.address, uint16(o.spec.Ports[i].Container))
	}
	return ""
}

// seen is a container as a look at it found it. It does not change.
type seen struct {
	*container
	state     runState
	startedAt time.Time
	endedAt   time.Time
	exit      int
	oom       bool
	restarts  int
	askedAt   time.Time
	failure   string
	waitsFor  string // the id of a volume that another instance holds
	health    health
	size      provider.ResourceSpec
	host      map[int]netip.AddrPort // published, by the port inside
	burning   int
	taken     int
}

func (o *container) look() seen {
	c := o.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	s := seen{
		container: o, state: o.state, startedAt: o.startedAt, endedAt: o.endedAt, exit: o.exit, oom: o.oom, restarts: o.restarts,
		askedAt: o.askedAt, failure: o.failure, health: o.health, size: o.spec.Resources, host: map[int]netip.AddrPort{},
	}
	for at, inside := range c.published {
		if inside.Addr() == o.address {
			s.host[int(inside.Port())] = at
		}
	}
	if o.state != running {
		s.waitsFor = o.waitsForLocked()
	}
	if o.process != nil && o.state == running {
		s.burning, s.taken = o.process.burning, o.process.taken
	}
	return s
}

// withLabels are the labels of a container: the request's, the annotations, and
// over them the provider's own.
func withLabels(request, annotations, own map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, request)
	maps.Copy(out, annotations)
	maps.Copy(out, own)
	return out
}
