package engine_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

func TestInfoDescribesTheEngine(t *testing.T) {
	r := newRig(t)
	info, err := r.Info(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if info.ID == "" || info.Version == "" || info.APIVersion < "1.40" || info.OS != "linux" ||
		info.CPUs < 1 || info.MemoryBytes < 1<<20 || !strings.HasPrefix(info.RootDir, "/") {
		t.Errorf("incomplete: %+v", info)
	}
	if strings.Contains(info.Architecture, "_") {
		t.Errorf("architecture %q is not a manifest's word", info.Architecture)
	}
}

func TestAContainerListensAtItsAssignedAddress(t *testing.T) {
	r := newRig(t)
	spec := r.probe("web", "listen:8080", "out:up", "wait")
	id := r.create(spec)
	if s := r.inspect(id); s.Status != docker.StatusCreated || s.Address != spec.Network.Address || !s.Started.IsZero() {
		t.Errorf("created: %+v", s)
	}
	if err := r.Start(r.ctx(), id); err != nil {
		t.Fatal(err)
	}
	if s := r.inspect(id); !s.Running() || s.Address != spec.Network.Address || s.Started.IsZero() {
		t.Errorf("started: %+v", s)
	}
	untilLine(t, r, id, "up")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + spec.Network.Address.String() + ":8080/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || !strings.HasPrefix(id, strings.TrimSpace(string(body))) {
		t.Errorf("answered %s %q", resp.Status, body)
	}
}

// untilLine follows the log until the line appears.
func untilLine(t testing.TB, r *rig, id, want string) {
	t.Helper()
	ctx, cancel := context.WithCancel(r.ctx())
	defer cancel()
	seen := false
	err := r.Logs(ctx, id, docker.LogOptions{Follow: true}, func(l docker.LogLine) error {
		if seen = l.Text == want; seen {
			return io.EOF
		}
		return nil
	})
	if !seen {
		t.Fatalf("no line %q: %v", want, err)
	}
}

func TestStartAndStopMayBeRepeated(t *testing.T) {
	r := newRig(t)
	id := r.create(r.probe("again", "out:up", "wait"))
	for range 2 {
		if err := r.Stop(r.ctx(), id, time.Second); err != nil {
			t.Errorf("stop of a created container: %v", err)
		}
	}
	for range 2 {
		if err := r.Start(r.ctx(), id); err != nil {
			t.Errorf("start: %v", err)
		}
	}
	untilLine(t, r, id, "up") // before that it hears no signal
	for range 2 {
		if err := r.Stop(r.ctx(), id, time.Minute); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	s := r.inspect(id)
	if s.Status != docker.StatusExited || s.Exit.Code != 0 || s.Exit.FinishedAt.Before(s.Exit.StartedAt) {
		t.Errorf("stopped: %+v", s)
	}
	if got := text(r.lines(id, docker.LogOptions{})); !slices.Contains(got, "stopping") {
		t.Errorf("the container got no signal: %q", got)
	}
	for range 2 {
		if err := r.Remove(r.ctx(), id); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	_, err := r.Inspect(r.ctx(), id)
	wantErr(t, err, docker.ErrNotFound)
}

func TestStopKillsAfterTheGrace(t *testing.T) {
	r := newRig(t)
	id := r.run(r.probe("stubborn", "ignore", "out:deaf", "wait"))
	untilLine(t, r, id, "deaf")
	began := time.Now()
	if err := r.Stop(r.ctx(), id, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("killed after %v, but a grace is rounded up to whole seconds", took)
	}
	if s := r.inspect(id); s.Exit.Code != 137 || s.Exit.OOMKilled {
		t.Errorf("exit %+v", s.Exit)
	}
}

func TestRemoveRefusesARunningContainer(t *testing.T) {
	r := newRig(t)
	id := r.run(r.probe("busy", "wait"))
	wantErr(t, r.Remove(r.ctx(), id), docker.ErrConflict)
	if !r.inspect(id).Running() {
		t.Error("it does not run any more")
	}
}

func TestCreateNamesWhatIsWrong(t *testing.T) {
	r := newRig(t)
	taken := r.probe("taken", "wait")
	r.create(taken)
	for _, tc := range []struct {
		name    string
		change  func(*docker.ContainerSpec)
		want    error
		atStart bool // older engines notice it only then
	}{
		{"a name in use", func(s *docker.ContainerSpec) { s.Name = taken.Name }, docker.ErrConflict, false},
		{"an unknown image", func(s *docker.ContainerSpec) { s.Image = "berth-test/none:1" }, docker.ErrImageNotFound, false},
		{"a name that could begin an image id", func(s *docker.ContainerSpec) { s.Image = "0" }, docker.ErrImageNotFound, false},
		{"an unknown network", func(s *docker.ContainerSpec) { s.Network.Network = r.prefix + "-none" }, docker.ErrNotFound, true},
		{"an address outside the subnet", func(s *docker.ContainerSpec) { s.Network.Address = r.subnet.Addr().Prev() }, docker.ErrInvalid, true},
		{"a bind of a path that does not exist", func(s *docker.ContainerSpec) {
			s.Mounts = []docker.Mount{{HostPath: "/nonexistent/" + r.prefix, Path: "/x"}}
		}, docker.ErrInvalid, false},
		{"a mount of nothing", func(s *docker.ContainerSpec) { s.Mounts = []docker.Mount{{Path: "/x"}} }, docker.ErrInvalid, false},
		{"a port without a host address", func(s *docker.ContainerSpec) { s.Ports = []docker.PortBinding{{ContainerPort: 80}} }, docker.ErrInvalid, false},
		{"a NUL in a variable", func(s *docker.ContainerSpec) { s.Env = []docker.EnvVar{{Name: "A", Value: "\x00"}} }, docker.ErrInvalid, false},
		{"bytes that are not UTF-8", func(s *docker.ContainerSpec) { s.Env = []docker.EnvVar{{Name: "A", Value: "\xff"}} }, docker.ErrInvalid, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := r.probe("wrong", "wait")
			tc.change(&spec)
			id, err := r.Create(r.ctx(), spec)
			if err == nil && tc.atStart {
				err = r.Start(r.ctx(), id)
			}
			wantErr(t, err, tc.want)
			if id != "" {
				_ = r.Remove(r.ctx(), id)
			}
		})
	}
}

func TestAMissingContainerIsNotFound(t *testing.T) {
	r := newRig(t)
	none := r.prefix + "-none"
	wantErr(t, r.Start(r.ctx(), none), docker.ErrNotFound)
	wantErr(t, r.Stop(r.ctx(), none, 0), docker.ErrNotFound)
	wantErr(t, r.Update(r.ctx(), none, docker.ContainerUpdate{}), docker.ErrNotFound)
	_, err := r.ExitState(r.ctx(), none)
	wantErr(t, err, docker.ErrNotFound)
	wantErr(t, r.Logs(r.ctx(), none, docker.LogOptions{}, nil), docker.ErrNotFound)
	if err := r.Remove(r.ctx(), none); err != nil {
		t.Errorf("remove: %v", err)
	}
}

func TestAnAddressInUseIsToldApartFromAPort(t *testing.T) {
	r := newRig(t)
	first := r.probe("first", "wait")
	first.Ports = []docker.PortBinding{{HostIP: "127.0.0.1", ContainerPort: 80, Protocol: "tcp"}}
	state := r.inspect(r.run(first))
	if len(state.Ports) != 1 || state.Ports[0].HostPort == 0 || state.Ports[0].HostIP != "127.0.0.1" {
		t.Fatalf("ports %+v", state.Ports)
	}
	samePort := r.probe("port", "wait")
	samePort.Ports = state.Ports
	wantErr(t, r.Start(r.ctx(), r.create(samePort)), docker.ErrPortInUse)
	sameAddress := r.probe("address", "wait")
	sameAddress.Network.Address = first.Network.Address
	wantErr(t, r.Start(r.ctx(), r.create(sameAddress)), docker.ErrAddressInUse)
}
