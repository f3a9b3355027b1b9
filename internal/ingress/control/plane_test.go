package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/ingress/controlclient"
	"github.com/berth-cloud/berth/internal/ingress/proxy"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// memory is a Saver that can fail and keeps what it was given.
type memory struct {
	mu     sync.Mutex
	tables map[table.Owner]table.Table
	fail   error
	onSave func()
}

func (m *memory) Save(t table.Table) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.onSave != nil {
		m.onSave()
	}
	if m.fail != nil {
		return m.fail
	}
	m.tables[t.Owner] = t
	return nil
}

func (m *memory) Load(owners ...table.Owner) ([]table.Table, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ts []table.Table
	for _, o := range owners {
		if t, ok := m.tables[o]; ok {
			ts = append(ts, t)
		}
	}
	return ts, nil
}

func newMemory() *memory { return &memory{tables: map[table.Owner]table.Table{}} }

func newPlane(t testing.TB, m *memory, bootID string) (*Plane, *proxy.Proxy) {
	p := proxy.New(proxy.Config{Log: quiet})
	t.Cleanup(p.Close)
	return NewPlane(quiet, m, p, table.Hello{Protocol: table.Protocol, Epoch: "epoch-1"}, bootID), p
}

func tableOf(owner table.Owner, version int64, hosts ...string) table.Table {
	t := table.Table{Protocol: table.Protocol, Owner: owner, Version: version, BootID: "boot"}
	for _, h := range hosts {
		t.Routes = append(t.Routes, table.Route{Service: string(owner) + "-" + h, Hosts: []string{h}, Path: "/"})
	}
	return t
}

func TestVersionsDecideWhichPushIsTaken(t *testing.T) {
	p, _ := newPlane(t, newMemory(), "boot")
	for i, c := range []struct {
		push table.Table
		want error
	}{
		{tableOf("server", 5, "a"), nil},
		{tableOf("server", 5, "a"), nil},                    // again
		{tableOf("server", 5, "b"), table.ErrSameVersion},   // other content
		{tableOf("server", 4, "a"), table.ErrOldVersion},    // older
		{tableOf("backend", 1, "c"), nil},                   // owners count for themselves
		{tableOf("backend", 2, "c", "a"), table.ErrClaimed}, // taken by the server's
		{tableOf("server", 6, "a", "c"), table.ErrClaimed},  // and the other way round
		{tableOf("server", 6), nil},                         // a is free now
		{tableOf("backend", 2, "c", "a"), nil},              //
		{tableOf("nobody", 1, "d"), table.ErrInvalid},       //
		{table.Table{Protocol: 2, Owner: "server", Version: 9}, table.ErrProtocol},
	} {
		ack, err := p.Push(c.push)
		if !errors.Is(err, c.want) {
			t.Errorf("push %d: %v, want %v", i, err, c.want)
		}
		if err == nil && (ack.Version != c.push.Version || ack.Owner != c.push.Owner || ack.Epoch != "epoch-1") {
			t.Errorf("push %d: ack %+v", i, ack)
		}
	}
}

func TestAnUnchangedTableAfterAnEngineRestartNeedsNoNewVersion(t *testing.T) {
	m := newMemory()
	p, _ := newPlane(t, m, "boot")
	first := tableOf("server", 1, "a")
	if _, err := p.Push(first); err != nil {
		t.Fatal(err)
	}
	first.EngineStart = "later"
	if _, err := p.Push(first); err != nil {
		t.Fatal(err)
	}
	if got := m.tables["server"].EngineStart; got != "later" {
		t.Errorf("the stored table has engine start %q, want the new one", got)
	}
}

func TestATableThatCannotBeSavedIsNeitherUsedNorAcknowledged(t *testing.T) {
	m := newMemory()
	p, px := newPlane(t, m, "boot")
	if _, err := p.Push(tableOf("server", 1, "a")); err != nil {
		t.Fatal(err)
	}
	m.fail = errors.New("disk full")
	if _, err := p.Push(tableOf("server", 2, "b")); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v, want the disk's error", err)
	}
	if status(px, "b") != 404 || status(px, "a") == 404 || p.Report().Versions["server"] != 1 {
		t.Error("the old table is not in use any more")
	}
	m.fail = nil
	if _, err := p.Push(tableOf("server", 2, "b")); err != nil {
		t.Errorf("the push again: %v", err)
	}
}

// status is what a host answers; routes here hold for no time and have no
// targets, so a known one answers 503.
func status(p *proxy.Proxy, host string) int {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://"+host+"/", nil))
	return w.Code
}

func TestATableIsOnDiskBeforeItIsInUse(t *testing.T) {
	m := newMemory()
	p, px := newPlane(t, m, "boot")
	m.onSave = func() {
		if got := status(px, "a"); got != 404 {
			t.Errorf("while it is being saved the host answers %d already", got)
		}
	}
	if _, err := p.Push(tableOf("server", 1, "a")); err != nil {
		t.Fatal(err)
	}
	if got := status(px, "a"); got != 503 {
		t.Errorf("after the ack the host answers %d", got)
	}
}

func TestWhateverWasAcknowledgedIsThereAfterARestart(t *testing.T) {
	owners := []table.Owner{"server", "backend"}
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory()
		px := proxy.New(proxy.Config{Log: quiet})
		defer px.Close()
		restart := func() *Plane {
			return NewPlane(quiet, m, px, table.Hello{Epoch: "e"}, "boot")
		}
		p := restart()
		acked := map[table.Owner]table.Table{}
		rt.Repeat(map[string]func(*rapid.T){
			"push": func(rt *rapid.T) {
				o := rapid.SampledFrom(owners).Draw(rt, "owner")
				tb := tableOf(o, rapid.Int64Range(1, 6).Draw(rt, "version"), rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID).Draw(rt, "hosts")...)
				m.fail = nil
				if rapid.IntRange(0, 3).Draw(rt, "disk") == 0 {
					m.fail = errors.New("disk full")
				}
				if _, err := p.Push(tb); err == nil {
					if old := acked[o]; tb.Version < old.Version {
						rt.Fatalf("version %d was acknowledged after %d", tb.Version, old.Version)
					}
					acked[o] = tb
				}
			},
			"restart": func(*rapid.T) { p = restart() },
			"": func(rt *rapid.T) {
				rep := p.Report()
				for _, o := range owners {
					if rep.Versions[o] != acked[o].Version || m.tables[o].Version != acked[o].Version {
						rt.Fatalf("owner %s: in use %d, on disk %d, acknowledged %d", o, rep.Versions[o], m.tables[o].Version, acked[o].Version)
					}
				}
				for _, h := range []string{"a", "b", "c"} {
					n := 0
					for _, tb := range acked {
						for _, r := range tb.Routes {
							if r.Hosts[0] == h {
								n++
							}
						}
					}
					if n > 1 {
						rt.Fatalf("host %s is acknowledged to %d owners", h, n)
					}
					if routed := status(px, h) != 404; routed != (n == 1) {
						rt.Fatalf("host %s is routed: %v, acknowledged: %v", h, routed, n == 1)
					}
				}
			},
		})
	})
}

// control is a plane behind its socket.
func serveControl(t *testing.T, allow func(uint32) bool) (*controlclient.Client, *Plane, *proxy.Proxy) {
	t.Helper()
	p, px := newPlane(t, newMemory(), "boot")
	path := filepath.Join(t.TempDir(), "c.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(quiet, p, nil, allow)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	c := controlclient.New(path)
	t.Cleanup(func() {
		c.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return c, p, px
}

func TestRefusalsKeepTheirMeaningOverTheSocket(t *testing.T) {
	c, _, _ := serveControl(t, nil)
	if _, err := c.Push(t.Context(), tableOf("server", 5, "a")); err != nil {
		t.Fatal(err)
	}
	for want, tb := range map[error]table.Table{
		table.ErrOldVersion:  tableOf("server", 4, "a"),
		table.ErrSameVersion: tableOf("server", 5, "b"),
		table.ErrClaimed:     tableOf("backend", 1, "a"),
		table.ErrInvalid:     tableOf("server", 6, "NOT lower"),
		table.ErrProtocol:    {Protocol: 2, Owner: "server", Version: 6},
	} {
		if _, err := c.Push(t.Context(), tb); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	var claimed *table.ClaimedError
	if _, err := c.Push(t.Context(), tableOf("backend", 1, "a", "b")); !errors.As(err, &claimed) || len(claimed.Claims) != 1 || !strings.HasPrefix(claimed.Claims[0].Host, "a") {
		t.Errorf("the claims of another owner are %+v", err)
	}
}

func TestAStrangerIsRefused(t *testing.T) {
	asked := make(chan uint32, 8)
	c, _, _ := serveControl(t, func(uid uint32) bool { asked <- uid; return false })
	if _, err := c.Hello(t.Context()); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("got %v, want a refusal that says who may", err)
	}
	if uid := <-asked; uint64(uid) != uint64(os.Getuid()) {
		t.Errorf("the peer is user %d, want %d", uid, os.Getuid())
	}
}

func TestAReportComesAtOnceAndThenWithEveryChange(t *testing.T) {
	c, _, px := serveControl(t, nil)
	entered, leave := make(chan struct{}), make(chan struct{})
	b := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(entered); <-leave }))
	t.Cleanup(b.Close)
	tb := tableOf("server", 1, "a")
	tb.Routes[0].Targets = []table.Target{{ID: "c1", Address: strings.TrimPrefix(b.URL, "http://")}}
	tb.Routes[0].DrainTimeout = patience

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	steps := []struct {
		name string
		ok   func(table.Report) bool
		then func()
	}{
		{"the first report", func(r table.Report) bool { return r.Epoch == "epoch-1" && len(r.Targets) == 0 },
			func() { mustPush(t, c, tb) }},
		{"the pushed target", func(r table.Report) bool { return r.Versions["server"] == 1 && len(r.Targets) == 1 },
			func() { go status(px, "a"); <-entered }},
		{"a request in flight", func(r table.Report) bool { return len(r.Targets) == 1 && r.Targets[0].InFlight == 1 },
			func() { mustPush(t, c, tableOf("server", 2, "a")) }},
		{"the drain", func(r table.Report) bool {
			return r.Versions["server"] == 2 && len(r.Targets) == 1 && r.Targets[0].Draining
		},
			func() { close(leave) }},
		{"the drained target gone", func(r table.Report) bool { return len(r.Targets) == 0 },
			func() { go status(px, "a") }},
		{"our own 503", func(r table.Report) bool { return r.Failed["server-a"] == 1 }, nil},
	}
	err := c.Reports(ctx, func(r table.Report) error {
		if !steps[0].ok(r) {
			return nil
		}
		then := steps[0].then
		if then == nil {
			return io.EOF
		}
		steps = steps[1:]
		then()
		return nil
	})
	if !errors.Is(err, io.EOF) {
		t.Errorf("waiting for %s: %v", steps[0].name, err)
	}
}

func mustPush(t *testing.T, c *controlclient.Client, tb table.Table) {
	if _, err := c.Push(t.Context(), tb); err != nil {
		t.Error(err)
	}
}

func TestReportStreamsAreBounded(t *testing.T) {
	p, _ := newPlane(t, newMemory(), "boot")
	h := newHub(p)
	for i := range maxStreams {
		if h.join() == nil {
			t.Fatalf("stream %d was refused", i)
		}
	}
	if h.join() != nil {
		t.Error("there is no bound")
	}
}

func TestASlowStreamGetsTheNewestReport(t *testing.T) {
	p, _ := newPlane(t, newMemory(), "boot")
	h := newHub(p)
	ch := h.join()
	for v := int64(1); v <= 3; v++ {
		if _, err := p.Push(tableOf("server", v, "a")); err != nil {
			t.Fatal(err)
		}
		h.send()
	}
	if r := <-ch; r.Versions["server"] != 3 {
		t.Errorf("it got version %d, want 3", r.Versions["server"])
	}
}

func TestTheSocketIsPrivateAndReplacedWhenItsOwnerIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", fi, err)
	}
	if _, err := Listen(path); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one: %v, want ErrInUse", err)
	}
	l.SetUnlinkOnClose(false) // as a killed process leaves it
	_ = l.Close()
	again, err := Listen(path)
	if err != nil {
		t.Fatalf("after the owner's death: %v", err)
	}
	_ = again.Close()
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); err == nil {
		t.Error("somebody's file was replaced")
	}
}

func TestAnAbsentDataPlaneIsUnreachable(t *testing.T) {
	c := controlclient.New(filepath.Join(t.TempDir(), "none.sock"))
	defer c.Close()
	if _, err := c.Hello(t.Context()); !errors.Is(err, controlclient.ErrUnreachable) {
		t.Errorf("got %v, want ErrUnreachable", err)
	}
}

func TestAnotherProtocolIsRefusedByNameOnTheClientsSide(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"protocol":7,"pid":12,"build":"v9"}`)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	c := controlclient.New(path)
	t.Cleanup(c.Close)
	if _, err := c.Hello(t.Context()); !errors.Is(err, table.ErrProtocol) || !strings.Contains(err.Error(), "7") || !strings.Contains(err.Error(), "v9") {
		t.Errorf("got %v", err)
	}
}
