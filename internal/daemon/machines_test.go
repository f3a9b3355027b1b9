package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/internal/wire"
)

// machineStand is a daemon's folder with a file of machines in it.
type machineStand struct {
	*testing.T
	cfg   Config
	cloud *fake.Cloud
}

const machineText = `{
  "cluster": {"id": "home"},
  "shard": {
    "name": "one", "provider": {"kind": "fake"},
    "server": {"registration_addr": "127.0.0.1:8992", "agent_addr": "127.0.0.1:8994"},
  },
  "templates": {"node": {"kind": "nod", "arch": "amd64", "userdata": {"content": "{{ .Nonce }}"}}},
  "groups": {"acme": {"web": {"template": "node", "size": 2}}},
}
`

func newMachineStand(t *testing.T) *machineStand {
	dir := t.TempDir()
	s := &machineStand{T: t, cfg: Config{DataDir: dir, Machines: filepath.Join(dir, "machines.jsonc")}, cloud: fake.NewCloud(fake.Options{Now: time.Now})}
	s.write(machineText)
	return s
}

func (s *machineStand) write(text string) {
	s.Helper()
	if err := os.WriteFile(s.cfg.Machines, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *machineStand) open() (*machines, error) {
	m, err := openMachines(s.Context(), &s.cfg, machineDeps{
		providers: map[string]infra.OpenFunc{fake.Kind: s.cloud.Open},
		listen: func(ctx context.Context, network, address string) (net.Listener, error) {
			if strings.HasPrefix(address, "127.0.0.1:") {
				address = "127.0.0.1:0"
			}
			return new(net.ListenConfig).Listen(ctx, network, address)
		},
	}, slog.New(slog.DiscardHandler))
	if err == nil {
		s.Cleanup(m.close)
	}
	return m, err
}

func TestWithoutAFileThereAreNoMachinesAndNothingIsMade(t *testing.T) {
	s := newMachineStand(t)
	s.cfg.Machines = ""
	m, err := s.open()
	if m != nil || err != nil {
		t.Fatal(m, err)
	}
	if m.api() != nil || m.check(t.Context()) != nil {
		t.Error("there is something")
	}
	if left, _ := os.ReadDir(s.cfg.DataDir); len(left) != 1 {
		t.Errorf("%v", left)
	}
}

func TestAFileOfMachinesThatIsWrongEndsTheStart(t *testing.T) {
	for name, tc := range map[string]struct{ text, says string }{
		"a mistake":              {strings.Replace(machineText, `"size": 2`, `"size": "two"`, 1), "machines.jsonc:8:59: groups.acme.web.size: this is a text"},
		"a provider to come":     {strings.Replace(machineText, `"kind": "fake"`, `"kind": "aws"`, 1), `shard.provider.kind`},
		"a provider of nobody":   {strings.Replace(machineText, `"kind": "fake"`, `"kind": "toaster"`, 1), `"toaster"; there are fake`},
		"an address of nobody":   {strings.Replace(machineText, `127.0.0.1:8992`, `192.0.2.1:1`, 1), "shard.server.registration_addr: listen tcp 192.0.2.1:1"},
		"a bucket without a key": {strings.Replace(machineText, `"groups"`, `"storage": {"endpoint": "https://s3.example.org", "bucket": "b", "access_key_file": "/none/a", "secret_key_file": "/none/b", "seal_key_file": "/none/c"}, "groups"`, 1), "storage: access_key_file: open /none/a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMachineStand(t)
			s.write(tc.text)
			if _, err := s.open(); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v", err)
			}
		})
	}
	s := newMachineStand(t)
	s.cfg.Machines += ".none"
	if _, err := s.open(); err == nil || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "--machines") {
		t.Errorf("%v", err)
	}
}

// eventually waits for what another goroutine does.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for tick := time.NewTicker(5 * time.Millisecond); !so(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("never:", what)
		}
	}
}

func (s *machineStand) run(m *machines) (end func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
	})
	s.Cleanup(end)
	return end
}

func TestMachinesAreMadeAndAFileThatBreaksLaterChangesNothing(t *testing.T) {
	s := newMachineStand(t)
	m, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	s.run(m)
	eventually(t, "two machines are there", func() bool { return len(s.cloud.Alive()) == 2 })
	eventually(t, "doctor says who leads", func() bool {
		c := m.check(t.Context())
		return len(c) == 1 && c[0].State == wire.CheckOK && strings.Contains(c[0].Message, "this server leads")
	})
	for text, says := range map[string]string{
		"{": "machines.jsonc:",
		strings.Replace(machineText, `"id": "home"`, `"id": "away"`, 1):        `cluster.id was "home" and is "away"`,
		strings.Replace(machineText, `"name": "one"`, `"name": "two"`, 1):      `shard.name was "one" and is "two"`,
		strings.Replace(machineText, `"kind": "fake"`, `"kind": "netns"`, 1):   `shard.provider.kind was "fake"`,
		strings.Replace(machineText, `"template": "node"`, `"template": 3`, 1): "groups.acme.web.template",
	} {
		s.write(text)
		if err := m.shard.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
		if c := m.check(t.Context()); c[0].State != wire.CheckFailed || !strings.Contains(c[0].Message, says) {
			t.Errorf("%+v", c)
		}
	}
	all, err := m.shard.Groups(t.Context())
	if err != nil || len(all) != 1 || all[0].Size != 2 || all[0].Absent {
		t.Errorf("%+v, %v", all, err)
	}
	if len(s.cloud.Alive()) != 2 {
		t.Errorf("%d machines", len(s.cloud.Alive()))
	}
	s.write(strings.Replace(machineText, `"size": 2`, `"size": 0`, 1))
	if err := m.shard.Reload(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "they go", func() bool { return len(s.cloud.Alive()) == 0 })
}

// A key that is lost is not made again over what it sealed.
func TestTheKeyOfTheSecretsIsMadeOnce(t *testing.T) {
	s := newMachineStand(t)
	m, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	m.close()
	path := filepath.Join(s.cfg.DataDir, "machines", "seal.key")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
	if m, err = s.open(); err != nil {
		t.Fatal(err)
	}
	m.close()
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("it is another one")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.open(); err == nil || !strings.Contains(err.Error(), "bring it back") {
		t.Errorf("%v", err)
	}
}
