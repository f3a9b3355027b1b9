package netns_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
	"github.com/berth-cloud/berth/instances/infra/netns"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
	"github.com/berth-cloud/berth/secrets"
)

// engineOf calls the engine of a machine.
type engineOf struct {
	t      testing.TB
	client *http.Client
}

func newEngineOf(t testing.TB, p *netns.Provider, instanceID string) engineOf {
	return engineOf{t, &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return p.DialEngine(ctx, instanceID)
		},
		DisableKeepAlives: true,
	}}}
}

func (e engineOf) try(ctx context.Context, method, path, body string, to any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: %s", res.Status, raw)
	}
	if err == nil && to != nil {
		err = json.Unmarshal(raw, to)
	}
	return err
}

func (e engineOf) call(ctx context.Context, method, path, body string, to any) {
	e.t.Helper()
	if err := e.try(ctx, method, path, body, to); err != nil {
		e.t.Fatalf("%s %s: %v", method, path, err)
	}
}

type container struct {
	State struct {
		Running   bool
		Pid       int
		StartedAt string
	}
}

// socket is a path of the machine's engine, as the host sees it.
func (b *bench) socket(instanceID string) string {
	b.t.Helper()
	found := firstProcesses(filepath.Join(b.home(owner), instanceID))
	if len(found) != 1 {
		b.t.Fatalf("first processes: %v", found)
	}
	return "/proc/" + found[0] + "/root/run/docker.sock"
}

func TestAContainerOutlivesItsEngineAndNotItsMachine(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	p, req := b.open(owner), request("")
	began := time.Now()
	made, err := p.CreateInstance(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	created := time.Since(began)
	b.running(ctx, p, req.InstanceID)
	t.Logf("create returns after %v, the engine answers after %v", created.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))

	image := testimage.Build(t, b.socket(req.InstanceID), "web")
	e := newEngineOf(t, p, req.InstanceID)
	var info struct{ Name, Driver string }
	e.call(ctx, http.MethodGet, "/info", "", &info)
	if info.Name != req.InstanceID {
		t.Errorf("the engine is on %q, not on %s", info.Name, req.InstanceID)
	}
	t.Logf("storage driver %s", info.Driver)
	var c struct{ ID string }
	e.call(ctx, http.MethodPost, "/containers/create", `{"Image":"`+image+`"}`, &c)
	e.call(ctx, http.MethodPost, "/containers/"+c.ID+"/start", "", nil)
	var first, later container
	e.call(ctx, http.MethodGet, "/containers/"+c.ID+"/json", "", &first)
	if !first.State.Running {
		t.Fatal("the container does not run")
	}
	if left := leftOf(made.ProviderInstanceID); len(left) < 3 {
		t.Errorf("the machine has nothing but %v: this test cannot see what is left", left)
	}
	if out, err := exec.CommandContext(ctx, "docker", "inspect", c.ID).Output(); err == nil {
		t.Errorf("the host's engine knows the container: %s", out)
	}

	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), b.config.Dir) {
		t.Errorf("the host sees the machine's mounts: %v", err)
	}
	b.checkOnItsOwn(req.InstanceID)

	if err := p.KillEngine(ctx, req.InstanceID); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the engine answers again", func() bool {
		return e.try(ctx, http.MethodGet, "/containers/"+c.ID+"/json", "", &later) == nil
	})
	if later != first {
		t.Errorf("with the engine's end the container changed from %+v to %+v", first, later)
	}
	if inst, err := p.GetInstanceStatus(ctx, req.InstanceID, ""); err != nil || inst.Status != infra.StatusRunning {
		t.Errorf("a machine whose engine ended: %v, %v", inst, err)
	}

	if err := p.KillMachine(ctx, req.InstanceID); err != nil {
		t.Fatal(err)
	}
	inst, err := p.GetInstanceStatus(ctx, req.InstanceID, "")
	if err != nil || inst.Status != infra.StatusStopped {
		t.Errorf("a machine that was killed: %v, %v, not stopped", inst, err)
	}
	if again, err := p.CreateInstance(ctx, req); err != nil || again.Status != infra.StatusStopped {
		t.Errorf("a repeated create brought a dead machine back: %v, %v", again, err)
	}
	if err := e.try(ctx, http.MethodGet, "/_ping", "", nil); err == nil {
		t.Error("the engine of a dead machine answers")
	}
	b.gone(ctx, p, req.InstanceID)
	for _, left := range leftOf(made.ProviderInstanceID) {
		t.Errorf("left: %s", left)
	}
}

// checkOnItsOwn: nothing that ends this process, or its session, ends the machine.
func (b *bench) checkOnItsOwn(instanceID string) {
	b.t.Helper()
	pid, err := strconv.Atoi(firstProcesses(filepath.Join(b.home(owner), instanceID))[0])
	if err != nil {
		b.t.Fatal(err)
	}
	if session, err := unix.Getsid(pid); err != nil || session != pid {
		b.t.Errorf("the machine is in session %d of another, %v", session, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil || strings.Contains(string(status), fmt.Sprintf("PPid:\t%d\n", os.Getpid())) {
		b.t.Errorf("the machine is a child of its provider: %v", err)
	}
}

func TestAnEngineIsLeftDownWhenThatIsAsked(t *testing.T) {
	b := newBench(t, light(t), func(c *netns.Config) { c.LeaveEngineDown = true })
	ctx := hostdirtest.Patient(t)
	p, req := b.open(owner), request("")
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Fatal(err)
	}
	b.running(ctx, p, req.InstanceID)
	if err := p.KillEngine(ctx, req.InstanceID); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the machine notes that its engine ended", func() bool { return p.KillEngine(ctx, req.InstanceID) != nil })
	if inst, err := p.GetInstanceStatus(ctx, req.InstanceID, ""); err != nil || inst.Status != infra.StatusRunning {
		t.Errorf("a machine whose engine is down: %v, %v", inst, err)
	}
	if conn, err := p.DialEngine(ctx, req.InstanceID); err == nil {
		_ = conn.Close()
		t.Error("the engine is back")
	}
}

const withFiles = `#cloud-config
write_files:
- path: /var/lib/berth/agent/nonce.jwt
  permissions: '0600'
  owner: root:root
  content: a token
- path: /var/lib/berth/agent/bootstrap.json
  encoding: b64
  content: eyJ4IjoxfQ==
- {path: /etc/berth/packed, encoding: gz+b64, permissions: "0755", content: H4sIAAAAAAACA0vOzy0oSi0uTk3hAgC7bU/ICwAAAA==}
runcmd:
- [berth-node, agent]
`

// agents are machines with the test's agent.
func agents(c *netns.Config) { c.Agent = []string{c.Program[0], agentCommand} }

func TestUserDataIsThereBeforeTheAgentAndTheAgentIsKeptRunning(t *testing.T) {
	b := newBench(t, light(t), agents)
	ctx := hostdirtest.Patient(t)
	p, req := b.open(owner), request(withFiles)
	made, err := p.CreateInstance(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	b.running(ctx, p, req.InstanceID)
	inside := strings.TrimSuffix(b.socket(req.InstanceID), "/run/docker.sock")
	for name, want := range map[string]string{
		"/var/lib/berth/agent/nonce.jwt": "-rw------- a token", "/var/lib/berth/agent/bootstrap.json": `-rw-r--r-- {"x":1}`,
		"/etc/berth/packed": "-rwxr-xr-x compressed\n",
	} {
		info, err := os.Stat(inside + name)
		if err != nil {
			t.Error(err)
			continue
		}
		text, err := os.ReadFile(inside + name)
		if got := info.Mode().String() + " " + string(text); err != nil || got != want {
			t.Errorf("%s is %q, %v, not %q", name, got, err, want)
		}
	}
	called := inside + "/var/lib/berth/called"
	line := req.InstanceID + " --dir /var/lib/berth/agent --docker unix:///run/docker.sock\n"
	until(ctx, t, "the agent is started", func() bool { text, _ := os.ReadFile(called); return string(text) == line })

	// From the host, at the machine's address.
	ask := func(addr, what string) string { return answer(ctx, t, addr, what) }
	if got := ask(made.PrivateIPv4, "127.0.0.1:1"); got != "no" {
		t.Errorf("the agent says %q", got)
	}
	pids := agentsOf(t, inside)
	if len(pids) != 1 {
		t.Fatalf("agents: %v", pids)
	}
	if err := exec.CommandContext(ctx, "kill", "-KILL", pids[0]).Run(); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the agent is started again", func() bool { text, _ := os.ReadFile(called); return string(text) == line+line })
}

// agentsOf are the host's pids of the agents in a machine, by its root folder.
func agentsOf(t testing.TB, root string) []string {
	t.Helper()
	want, err := os.Readlink(strings.TrimSuffix(root, "/root") + "/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, name := range all {
		raw, err := os.ReadFile(name)
		ns, err2 := os.Readlink(filepath.Dir(name) + "/ns/mnt")
		if err == nil && err2 == nil && ns == want && strings.Contains(string(raw), "\x00"+agentCommand+"\x00") && !strings.Contains(string(raw), initCommand) {
			found = append(found, filepath.Base(filepath.Dir(name)))
		}
	}
	return found
}

// answer asks the agent at an address whether it reaches another.
func answer(ctx context.Context, t testing.TB, agent, what string) string {
	t.Helper()
	var conn net.Conn
	until(ctx, t, "the agent listens", func() (ok bool) {
		d := net.Dialer{Timeout: time.Second}
		var err error
		conn, err = d.DialContext(ctx, "tcp4", net.JoinHostPort(agent, agentPort))
		return err == nil
	})
	defer conn.Close()
	if _, err := io.WriteString(conn, what+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func canForward() bool {
	_, err := exec.LookPath("iptables")
	return err == nil
}

func TestMachinesReachEachOtherOnlyWhenThatIsAsked(t *testing.T) {
	for _, connect := range []bool{false, true} {
		t.Run(fmt.Sprint(connect), func(t *testing.T) {
			if connect && !canForward() {
				t.Skip("letting machines reach each other needs iptables")
			}
			b := newBench(t, light(t), agents, func(c *netns.Config) { c.ConnectMachines = connect })
			ctx := hostdirtest.Patient(t)
			p := b.open(owner)
			var addrs []string
			for range 2 {
				req := request("")
				made, err := p.CreateInstance(ctx, req)
				if err != nil {
					t.Fatal(err)
				}
				addrs = append(addrs, made.PrivateIPv4)
			}
			want := map[bool]string{false: "no", true: "yes"}[connect]
			_ = answer(ctx, t, addrs[1], "127.0.0.1:1") // it listens
			if got := answer(ctx, t, addrs[0], net.JoinHostPort(addrs[1], agentPort)); got != want {
				t.Errorf("one machine reaches another: %s, not %s", got, want)
			}
			l, err := net.Listen("tcp4", "0.0.0.0:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			host := addrs[0][:strings.LastIndexByte(addrs[0], '.')] + "." + fmt.Sprint(lastByte(addrs[0])-1)
			if got := answer(ctx, t, addrs[0], net.JoinHostPort(host, port)); got != "yes" {
				t.Errorf("a machine reaches the host: %s", got)
			}
		})
	}
}

func lastByte(addr string) byte { return net.ParseIP(addr).To4()[3] }

func TestWhatNoMachineOfNamespacesCanBeIsRefusedByItsLine(t *testing.T) {
	b := newBench(t, light(t))
	ctx := hostdirtest.Patient(t)
	p := b.open(owner)
	for name, change := range map[string]func(r *infra.CreateInstanceRequest){
		"line 3": func(r *infra.CreateInstanceRequest) {
			r.UserData = secrets.NewSecretString("#cloud-config\nwrite_files:\n- path: /root/.ssh/authorized_keys\n")
		},
		"instance type": func(r *infra.CreateInstanceRequest) { r.InstanceType = "huge" },
	} {
		req := request("")
		change(&req)
		_, err := p.CreateInstance(ctx, req)
		if !errors.Is(err, infra.ErrInvalidRequest) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "ssh") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(b.home(owner), req.InstanceID)); err == nil {
			t.Errorf("%s: a folder is left", name)
		}
	}
}
