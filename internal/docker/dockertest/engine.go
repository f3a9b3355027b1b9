package dockertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strconv"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// Engine is a simulated Docker engine. It is safe for concurrent use; the same
// calls at the same virtual times give the same ids, addresses and answers.
type Engine struct {
	clock *Clock
	info  docker.EngineInfo
	seed  string
	seq   uint64
	down  bool
	epoch int           // grows when streams break
	broke chan struct{} // closed when they do

	images  map[string]*image // by id
	refs    map[string]*image // by normalised reference
	remote  map[string]*Remote
	byName  map[string]*container
	byID    map[string]*container
	labels  labelIndex
	volumes map[string]*docker.Volume
	// volumeFiles are the files put into volumes, by volume and path.
	volumeFiles map[string]map[string]docker.File
	networks    []*network
	hostRoutes  []netip.Prefix
	ports       portTable
	byAddr      map[netip.Addr]*container // running containers, over all networks

	subs    map[*subscription]struct{}
	onEvent []func(docker.Event)
	onCall  func(CutPoint)
	faults  []*armedFault
	log     callLog
	history history
	stale   staleView
}

var (
	_ docker.Runtime            = (*Engine)(nil)
	_ docker.ExitStateInspector = (*Engine)(nil)
	_ docker.ImageMover         = (*Engine)(nil)
)

// Option configures an engine.
type Option func(*Engine)

// WithSeed makes ids differ from those of another engine on the same clock.
func WithSeed(seed string) Option { return func(e *Engine) { e.seed = seed } }

// WithInfo changes what the engine says of itself.
func WithInfo(change func(*docker.EngineInfo)) Option {
	return func(e *Engine) { change(&e.info) }
}

// New returns an engine without images that has the networks every engine has.
func New(clock *Clock, opts ...Option) *Engine {
	e := &Engine{
		clock: clock,
		info: docker.EngineInfo{
			Version: "20.10.24", APIVersion: "1.41", Architecture: "amd64", OS: "linux",
			LiveRestore: true, CPUs: 4, MemoryBytes: 8 << 30, RootDir: "/var/lib/docker",
		},
		images:      map[string]*image{},
		refs:        map[string]*image{},
		remote:      map[string]*Remote{},
		byName:      map[string]*container{},
		byID:        map[string]*container{},
		labels:      labelIndex{},
		volumes:     map[string]*docker.Volume{},
		volumeFiles: map[string]map[string]docker.File{},
		ports:       newPortTable(),
		byAddr:      map[netip.Addr]*container{},
		subs:        map[*subscription]struct{}{},
		broke:       make(chan struct{}),
		history:     newHistory(),
	}
	for _, o := range opts {
		o(e)
	}
	e.info.ID = e.newID("engine")[:32]
	e.addDefaultNetworks()
	return e
}

// Clock is the engine's clock.
func (e *Engine) Clock() *Clock { return e.clock }

// Close breaks every stream and stops the timers of a wall clock. The engine
// answers nothing afterwards.
func (e *Engine) Close() {
	e.SetDown(true)
	e.clock.close()
}

// Info implements docker.Runtime.
func (e *Engine) Info(ctx context.Context) (info docker.EngineInfo, err error) {
	err = e.call(ctx, CallInfo, "", func(*fault) error {
		info = e.info
		return nil
	})
	return info, err
}

// SetDown takes the engine's API away or brings it back; containers go on. A
// published port does not answer meanwhile: its proxy is part of the engine.
func (e *Engine) SetDown(down bool) {
	e.clock.lock()
	defer e.clock.unlock()
	e.down = down
	if down {
		e.breakStreams()
	}
}

// RestartEngine restarts the engine in an instant. Streams break. With
// liveRestore containers keep running. Without it every running container ends
// as by a stop, and those whose policy is unless-stopped, and that nobody
// stopped, start again.
func (e *Engine) RestartEngine(liveRestore bool) {
	e.clock.lock()
	defer e.clock.unlock()
	e.down = false
	e.breakStreams()
	all := e.sorted()
	for _, c := range all {
		if !liveRestore && c.active() {
			e.endForShutdown(c)
		}
	}
	for _, c := range all {
		ended := c.status == docker.StatusExited && !c.stoppedByUser
		if ended && c.policy == docker.RestartUnlessStopped {
			c.restarts, c.backoff = 0, 0
			_ = e.startProcess(c, ByEngine) // a failure shows in its exit state, as on an engine
		}
	}
}

// newID derives a 64 hex digit id from the seed and a counter.
func (e *Engine) newID(kind string) string {
	e.seq++
	sum := sha256.Sum256([]byte(e.seed + "/" + kind + "/" + strconv.FormatUint(e.seq, 10)))
	return hex.EncodeToString(sum[:])
}

func (e *Engine) now() time.Time { return e.clock.Now() }
