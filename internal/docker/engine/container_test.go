package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
)

func TestValuesOfTheEnvironmentArriveByteForByte(t *testing.T) {
	r := newRig(t)
	value := rapid.StringOf(rapid.Rune().Filter(func(c rune) bool { return c != 0 }))
	examples := []string{"", "=", "a=b", " lead and trail ", "line\nline\r\n", "tab\t", `quo"te'`, "$HOME ${X} `x`",
		"\u2028\u2029", "<&>", "\ufffd", "\ufeff", "é漢🚢", "\x01\x1b[0m\x7f", strings.Repeat("long ", 5000)}
	batch := 0
	// Each check is one container that carries a whole batch of values.
	rapidChecks(t, 5, func(rt *rapid.T) {
		values := slices.Concat(examples, rapid.SliceOfN(value, 20, 20).Draw(rt, "values"))
		want := map[string]string{}
		batch++
		spec := r.probe(fmt.Sprint("env-", batch), "env")
		for i, v := range values {
			name := fmt.Sprint("V", i)
			want[name] = v
			spec.Env = append(spec.Env, docker.EnvVar{Name: name, Value: v})
		}
		id := r.run(spec)
		var all strings.Builder
		for _, l := range r.lines(id, docker.LogOptions{}) {
			all.WriteString(l.Text)
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(all.String()), &got); err != nil {
			rt.Fatalf("%v in %q", err, all.String())
		}
		for name, v := range want {
			if got[name] != v {
				rt.Errorf("%s: sent %q, arrived %q", name, v, got[name])
			}
		}
	})
}

// rapidChecks runs a property a few times only: every check costs a container.
func rapidChecks(t *testing.T, n int, prop func(*rapid.T)) {
	t.Helper()
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		if count++; count > n {
			return
		}
		prop(rt)
	})
}

func TestMountsAndUser(t *testing.T) {
	r := newRig(t)
	volume := r.prefix + "-data"
	if err := r.EnsureVolume(r.ctx(), docker.VolumeSpec{Name: volume, Labels: r.label}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "given"), []byte("from the host"), 0o600); err != nil {
		t.Fatal(err)
	}
	writer := r.probe("writer", "user", "write:/data/kept:hello", "mount:/data", "mount:/host", "read:/host/given", "mount:/scratch")
	writer.Mounts = []docker.Mount{{Volume: volume, Path: "/data"}, {HostPath: dir, Path: "/host", ReadOnly: true}}
	writer.Tmpfs = map[string]string{"/scratch": "size=1m"}
	lines, state := r.finish(writer)
	if got := text(lines); !slices.Equal(got, []string{"0 0", "rw", "ro", "from the host", "rw"}) {
		t.Errorf("said %q", got)
	}
	if !slices.Equal(state.Mounts, writer.Mounts) {
		t.Errorf("observed mounts %+v", state.Mounts)
	}
	reader := r.probe("reader", "user", "read:/data/kept", "mount:/data")
	reader.User = "1234:5678"
	reader.Mounts = []docker.Mount{{Volume: volume, Path: "/data"}}
	lines, _ = r.finish(reader)
	if got := text(lines); !slices.Equal(got, []string{"1234 5678", "hello", "ro"}) {
		t.Errorf("said %q", got)
	}
}

func TestMemoryOverTheLimitEndsTheProcess(t *testing.T) {
	r := newRig(t)
	spec := r.probe("glutton", "eat:200")
	spec.Resources = docker.Resources{MemoryBytes: 32 << 20, NanoCPUs: 5e8, PidsLimit: 64}
	// That the engine says so, most times, is held by the suite.
	_, state := r.finish(spec)
	if state.Exit.Code != 137 || state.Resources != spec.Resources {
		t.Errorf("exit %+v, resources %+v", state.Exit, state.Resources)
	}
}

func TestUpdateKeepsWhatItDoesNotName(t *testing.T) {
	r := newRig(t)
	spec := r.probe("updated", "wait", "eat:200")
	spec.Resources = docker.Resources{MemoryBytes: 32 << 20, NanoCPUs: 5e8, PidsLimit: 64}
	id := r.run(spec)
	policy := docker.RestartUnlessStopped
	if err := r.Update(r.ctx(), id, docker.ContainerUpdate{Restart: &policy}); err != nil {
		t.Fatal(err)
	}
	if s := r.inspect(id); s.Restart != policy || s.Resources != spec.Resources || !s.Running() {
		t.Errorf("after the policy: %+v", s)
	}
	limits := docker.Resources{MemoryBytes: 48 << 20}
	if err := r.Update(r.ctx(), id, docker.ContainerUpdate{Resources: &limits}); err != nil {
		t.Fatal(err)
	}
	want := docker.Resources{MemoryBytes: 48 << 20, NanoCPUs: 5e8, PidsLimit: 64}
	if s := r.inspect(id); s.Restart != policy || s.Resources != want {
		t.Errorf("after the limit: %+v", s)
	}
	never := docker.RestartNo
	if err := r.Update(r.ctx(), id, docker.ContainerUpdate{Restart: &never}); err != nil {
		t.Fatal(err)
	}
	// The signal lets it eat: the kernel shows that the limit still holds.
	if err := r.Stop(r.ctx(), id, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if s := r.inspect(id); !s.Exit.OOMKilled {
		t.Errorf("the limit got lost: %+v", s.Exit)
	}
}

func TestTheEngineRestartsWhatIsToBeRestarted(t *testing.T) {
	r := newRig(t)
	spec := r.probe("crasher", "exit:3")
	spec.Restart = docker.RestartUnlessStopped
	id := r.create(spec)
	died := make(chan docker.Event, 16)
	watch(t, r, func(e docker.Event) {
		if e.Action == docker.EventDie {
			died <- e
		}
	})
	if err := r.Start(r.ctx(), id); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		select {
		case e := <-died:
			if e.ExitCode != 3 || e.ContainerID != id {
				t.Errorf("event %+v", e)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("it is not restarted")
		}
	}
	if s := r.inspect(id); s.RestartCount < 1 || s.Restart != docker.RestartUnlessStopped {
		t.Errorf("restarts %d, policy %s", s.RestartCount, s.Restart)
	}
}

func TestCommandAndEntrypoint(t *testing.T) {
	r := newRig(t)
	spec := r.probe("command", "args")
	lines, _ := r.finish(spec)
	if got := text(lines); !slices.Equal(got, []string{`["/probe","args"]`}) {
		t.Errorf("said %q", got)
	}
	spec = r.probe("entrypoint", "x y", "exit:7")
	spec.Entrypoint = []string{"/probe", "args", "out:é"}
	spec.Command = []string{"exit:7"}
	spec.Init = true
	lines, state := r.finish(spec)
	if got := text(lines); !slices.Equal(got, []string{`["/probe","args","out:é","exit:7"]`, "é"}) || state.Exit.Code != 7 {
		t.Errorf("said %q, exit %d", got, state.Exit.Code)
	}
	spec = r.probe("nothing")
	spec.Entrypoint = []string{"/no-such-program"}
	id := r.create(spec)
	wantErr(t, r.Start(r.ctx(), id), docker.ErrInvalid)
	if s := r.inspect(id); s.Running() || s.Exit.Error == "" {
		t.Errorf("state %+v", s)
	}
}

func TestListTellsOfAllByLabelInOneCall(t *testing.T) {
	r := newRig(t)
	one := r.probe("one", "wait")
	one.Labels = map[string]string{"berth.enginetest": r.prefix, "kind": "a"}
	two := r.probe("two", "wait")
	oneID, twoID := r.run(one), r.create(two)
	states, err := r.List(r.ctx(), r.label)
	if err != nil || len(states) != 2 {
		t.Fatalf("%d containers, %v", len(states), err)
	}
	byID := map[string]docker.ContainerState{}
	for _, s := range states {
		byID[s.ID] = s
	}
	running, created := byID[oneID], byID[twoID]
	full := r.inspect(oneID)
	if running.Name != one.Name || running.Image != one.Image || running.ImageID != full.ImageID || !running.Running() ||
		running.Address != one.Network.Address || running.Full || running.Labels["kind"] != "a" ||
		!slices.Equal(running.Networks, []string{r.prefix}) || running.Created.Unix() != full.Created.Unix() {
		t.Errorf("running: %+v", running)
	}
	if created.Status != docker.StatusCreated || created.Address != two.Network.Address {
		t.Errorf("created: %+v", created)
	}
	for _, labels := range []map[string]string{
		{"berth.enginetest": r.prefix, "kind": "a"}, {"berth.enginetest": r.prefix, "kind": ""},
	} {
		if states, err = r.List(r.ctx(), labels); err != nil || len(states) != 1 || states[0].ID != oneID {
			t.Errorf("%v: %d containers, %v", labels, len(states), err)
		}
	}
	if states, err = r.List(r.ctx(), map[string]string{"berth.enginetest": r.prefix, "kind": "b"}); err != nil || len(states) != 0 {
		t.Errorf("another value: %d containers, %v", len(states), err)
	}
}
