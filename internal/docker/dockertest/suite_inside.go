package dockertest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

var copyCases = []SuiteCase{
	{"FilesLandInTheVolumeOfAContainerThatNeverStarted", func(s *suite) {
		s.need(s.Tools.Print != nil, "tools")
		volume := s.volume(nil)
		holder := s.spec(s.Sleep)
		holder.Mounts = []docker.Mount{{Volume: volume, Path: "/given/config"}}
		id := s.create(holder)
		s.must(s.Runtime.CopyInto(s.ctx, id, "/given/config", []docker.File{
			{Path: "app.conf", Mode: 0o640, UID: 7, GID: 8, Data: []byte("first\x00\xff\n")},
			{Path: "deep/er/other", Data: []byte("second")},
			{Path: "empty"},
		}), "copy")
		if st := s.inspect(id); st.Status != docker.StatusCreated {
			s.Errorf("the copy left it %s", st.Status)
		}
		reader := s.spec(s.Sleep)
		reader.Mounts = []docker.Mount{{Volume: volume, Path: "/seen", ReadOnly: true}}
		other := s.run(reader)
		for path, want := range map[string]string{"app.conf": "first\x00\xff\n", "deep/er/other": "second", "empty": ""} {
			if got := s.exec(other, docker.ExecSpec{Command: s.Tools.Read("/seen/" + path)}); got.stdout != want || got.code != 0 {
				s.Errorf("%s: %+v", path, got)
			}
		}
		for path, want := range map[string]string{"app.conf": "640 7 8\n", "deep/er/other": "644 0 0\n", "deep": "755 0 0\n", "deep/er": "755 0 0\n"} {
			if got := s.exec(other, docker.ExecSpec{Command: s.Tools.Stat("/seen/" + path)}); got.stdout != want {
				s.Errorf("%s is %q, want %q", path, got.stdout, want)
			}
		}
		err := s.Runtime.CopyInto(s.ctx, other, "/seen", []docker.File{{Path: "more"}})
		s.wantErr(err, isInvalid, "copy into a read-only mount")
	}},
	{"FilesAreReplacedInARunningContainer", func(s *suite) {
		id := s.tooled()
		for _, text := range []string{"one", "the second one", ""} {
			s.must(s.Runtime.CopyInto(s.ctx, id, "/etc", []docker.File{{Path: "berth.txt", Mode: 0o600, Data: []byte(text)}}), "copy")
			if got := s.exec(id, docker.ExecSpec{Command: s.Tools.Read("/etc/berth.txt")}); got.stdout != text || got.code != 0 {
				s.Errorf("read %+v, copied %q", got, text)
			}
		}
		s.must(s.Runtime.CopyInto(s.ctx, id, "/etc", nil), "copy of nothing")
	}},
	{"FilesDoNotLeaveTheirDirectory", func(s *suite) {
		id := s.create(s.spec(s.Sleep))
		for _, path := range []string{"../x", "/x", "a/../../x", "a/../x", ".", "", "a//x", "a/", ".."} {
			err := s.Runtime.CopyInto(s.ctx, id, "/etc", []docker.File{{Path: "fine"}, {Path: path}})
			s.wantErr(err, isInvalid, fmt.Sprintf("copy to %q", path))
		}
		s.wantErr(s.Runtime.CopyInto(s.ctx, id, "etc", []docker.File{{Path: "x"}}), isInvalid, "copy into a relative directory")
	}},
	{"FilesNeedADirectory", func(s *suite) {
		id := s.create(s.spec(s.Sleep))
		files := []docker.File{{Path: "a/x"}}
		s.wantErr(s.Runtime.CopyInto(s.ctx, id, "/no/such/place", files), docker.IsNotFound, "copy into a missing directory")
		s.wantErr(s.Runtime.CopyInto(s.ctx, s.name("none"), "/etc", files), docker.IsNotFound, "copy into a missing container")
	}},
}

var statsCases = []SuiteCase{
	{"StatsTellWhatAContainerUses", func(s *suite) {
		spec := s.spec(s.Sleep)
		spec.Resources.MemoryBytes = 64 << 20
		id := s.run(spec)
		st, err := s.Runtime.Stats(s.ctx, id)
		s.must(err, "stats")
		if st.At.Before(s.inspect(id).Started) || st.MemoryLimitBytes != 64<<20 || st.MemoryBytes == 0 || st.MemoryBytes > 64<<20 ||
			st.Pids == 0 || st.CPUNanos == 0 || st.CPUPercent < 0 || st.CPUPercent > 90 {
			s.Errorf("%+v", st)
		}
	}},
	{"StatsHaveARateOfCPU", func(s *suite) {
		s.need(s.Busy.Image != "", "program that keeps a core busy")
		spec := s.spec(s.Busy)
		spec.Resources.NanoCPUs = 3e8
		id := s.run(spec)
		// The first reading may be from before it began to work.
		if !s.Wait(func() bool {
			st, err := s.Runtime.Stats(s.ctx, id)
			s.must(err, "stats")
			return st.CPUPercent > 5 && st.CPUPercent < 60
		}) {
			s.Error("a busy container limited to 0.3 cores never used between 5 and 60 per cent of one")
		}
	}},
	{"StatsNeedARunningContainer", func(s *suite) {
		id := s.create(s.spec(s.Sleep))
		_, err := s.Runtime.Stats(s.ctx, id)
		s.wantErr(err, docker.IsNotRunning, "stats of a created container")
		s.must(s.Runtime.Start(s.ctx, id), "start")
		s.must(s.Runtime.Stop(s.ctx, id, 0), "stop")
		_, err = s.Runtime.Stats(s.ctx, id)
		s.wantErr(err, docker.IsNotRunning, "stats of a stopped container")
		_, err = s.Runtime.Stats(s.ctx, s.name("none"))
		s.wantErr(err, docker.IsNotFound, "stats of a missing container")
	}},
}

var signalCases = []SuiteCase{
	{"ASignalReachesTheProcess", func(s *suite) {
		for signal, code := range map[string]int{"": 137, "SIGKILL": 137, "9": 137, "TERM": 0} {
			id := s.run(s.spec(s.Sleep))
			s.must(s.Runtime.Signal(s.ctx, id, signal), "signal "+signal)
			if x := s.waitStatus(id, docker.StatusExited).Exit; x.Code != code {
				s.Errorf("signal %q ended it with %d, want %d", signal, x.Code, code)
			}
			s.wantErr(s.Runtime.Signal(s.ctx, id, signal), docker.IsNotRunning, "signal to an ended container")
		}
	}},
	{"ASignalNeedsAContainerAndAName", func(s *suite) {
		id := s.create(s.spec(s.Sleep))
		s.wantErr(s.Runtime.Signal(s.ctx, id, "HUP"), docker.IsNotRunning, "signal to a created container")
		s.wantErr(s.Runtime.Signal(s.ctx, s.name("none"), "HUP"), docker.IsNotFound, "signal to a missing container")
		s.must(s.Runtime.Start(s.ctx, id), "start")
		s.wantErr(s.Runtime.Signal(s.ctx, id, "NOSUCH"), isInvalid, "unknown signal")
		if !s.inspect(id).Running() {
			s.Error("the refused signal ended it")
		}
	}},
}

var hardeningCases = []SuiteCase{
	{"AHostEntryIsResolved", func(s *suite) {
		s.need(s.Tools.Print != nil, "tools")
		spec := s.spec(s.Sleep)
		spec.Hosts = []docker.HostEntry{
			{Name: "gateway.internal", Address: netip.MustParseAddr("192.0.2.7")},
			{Name: "six.internal", Address: netip.MustParseAddr("2001:db8::7")},
		}
		id := s.run(spec)
		if got := s.exec(id, docker.ExecSpec{Command: s.Tools.Resolve("gateway.internal")}); got.stdout != "192.0.2.7\n" || got.code != 0 {
			s.Errorf("%+v", got)
		}
		got := s.exec(id, docker.ExecSpec{Command: s.Tools.Read("/etc/hosts")}).stdout
		if !strings.Contains(got, "2001:db8::7\tsix.internal") {
			s.Errorf("hosts file %q", got)
		}
	}},
	{"ABadHostEntryOrCapabilityIsInvalid", func(s *suite) {
		for what, harden := range map[string]func(*docker.ContainerSpec){
			"a host without a name":  func(c *docker.ContainerSpec) { c.Hosts = []docker.HostEntry{{Address: netip.IPv6Loopback()}} },
			"a host without address": func(c *docker.ContainerSpec) { c.Hosts = []docker.HostEntry{{Name: "a"}} },
			"a host with two names": func(c *docker.ContainerSpec) {
				c.Hosts = []docker.HostEntry{{Name: "a b", Address: netip.IPv6Loopback()}}
			},
			"an unknown capability":    func(c *docker.ContainerSpec) { c.CapAdd = []string{"FLY"} },
			"unknown one taken away":   func(c *docker.ContainerSpec) { c.CapDrop = []string{"FLY"} },
			"a hostname with a blank":  func(c *docker.ContainerSpec) { c.Hostname = "a b" },
			"a hostname that is a dot": func(c *docker.ContainerSpec) { c.Hostname = "." },
		} {
			spec := s.spec(s.Sleep)
			harden(&spec)
			s.cleanup(func(ctx context.Context) { _ = s.Runtime.Remove(ctx, spec.Name) })
			_, err := s.Runtime.Create(s.ctx, spec)
			s.wantErr(err, isInvalid, "create with "+what)
		}
	}},
	{"CapabilitiesAreDroppedAndRightsNotGained", func(s *suite) {
		s.need(s.Tools.Print != nil, "tools")
		soft := s.run(s.spec(s.Sleep))
		spec := s.spec(s.Sleep)
		spec.CapDrop, spec.CapAdd, spec.NoNewPrivileges = []string{"ALL"}, []string{"NET_BIND_SERVICE"}, true
		hard := s.run(spec)
		const bindService = 1 << 10
		for _, process := range []string{"1", "self"} {
			read := docker.ExecSpec{Command: s.Tools.Read("/proc/" + process + "/status")}
			status := s.exec(hard, read).stdout
			for _, set := range []string{"CapEff", "CapPrm", "CapBnd"} {
				if got := statusField(status, set); got != fmt.Sprintf("%016x", bindService) {
					s.Errorf("process %s: %s is %s", process, set, got)
				}
			}
			if got := statusField(status, "NoNewPrivs"); got != "1" {
				s.Errorf("process %s: NoNewPrivs is %q", process, got)
			}
			status = s.exec(soft, read).stdout
			if statusField(status, "CapBnd") == fmt.Sprintf("%016x", bindService) || statusField(status, "NoNewPrivs") != "0" {
				s.Errorf("process %s: nothing asked for, and got %s", process, status)
			}
		}
	}},
	{"AReadOnlyRootRefusesWritesOutsideOfMounts", func(s *suite) {
		s.need(s.Tools.Print != nil, "tools")
		spec := s.spec(s.Sleep)
		spec.ReadOnlyRoot = true
		spec.Mounts = []docker.Mount{{Volume: s.volume(nil), Path: "/data"}}
		spec.Tmpfs = map[string]string{"/scratch": "size=1m"}
		id := s.run(spec)
		for path, allowed := range map[string]bool{"/etc/x": false, "/x": false, "/data/x": true, "/scratch/x": true} {
			if got := s.exec(id, docker.ExecSpec{Command: s.Tools.Write(path, "text")}); (got.code == 0) != allowed {
				s.Errorf("write to %s: %+v, allowed %v", path, got, allowed)
			}
		}
		s.wantErr(s.Runtime.CopyInto(s.ctx, id, "/etc", []docker.File{{Path: "y"}}), isInvalid, "copy onto the read-only root")
		s.must(s.Runtime.CopyInto(s.ctx, id, "/data", []docker.File{{Path: "y"}}), "copy into the volume")
	}},
	{"AHostnameIsTheContainers", func(s *suite) {
		s.need(s.Tools.Print != nil, "tools")
		spec := s.spec(s.Sleep)
		spec.Hostname = "web-0"
		got := s.exec(s.run(spec), docker.ExecSpec{Command: s.Tools.Read("/proc/sys/kernel/hostname")})
		if got.stdout != "web-0\n" {
			s.Errorf("%+v", got)
		}
	}},
}

func isInvalid(err error) bool { return errors.Is(err, docker.ErrInvalid) }

// statusField is one field of a process's status in /proc.
func statusField(status, name string) string {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func termSize(t docker.TermSize) string { return fmt.Sprintf("%dx%d", t.Width, t.Height) }
