package qemu_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/qemu"
)

// settings are those of testdata, in a folder of the test.
func settings(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile("testdata/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	s["dir"] = filepath.Join(t.TempDir(), "machines")
	return s
}

func TestASettingThatCannotBeIsRefusedByName(t *testing.T) {
	if _, err := qemu.Open(t.Context(), infra.Options{Owner: owner, Settings: settings(t)}); err != nil {
		t.Fatalf("the settings of testdata: %v", err)
	}
	image := func(i map[string]any) map[string]any { return map[string]any{"default": i} }
	for says, change := range map[string]map[string]any{
		`unknown field "kvm"`:          {"kvm": true},
		`dir is "here"`:                {"dir": "here"},
		`program is "qemu"`:            {"program": "qemu"},
		`detach is "setsid"`:           {"detach": "setsid"},
		`accelerator is "hvf"`:         {"accelerator": "hvf"},
		`stop_grace is 1h`:             {"stop_grace": "1h"},
		`stop_grace: time`:             {"stop_grace": "soon"},
		`max_machines is -1`:           {"max_machines": -1},
		`images is empty`:              {"images": map[string]any{}},
		`neither a disk nor a kernel`:  {"images": image(map[string]any{})},
		`"x.raw"; it must be an`:       {"images": image(map[string]any{"disk": "x.raw", "format": "raw"})},
		`of format ""`:                 {"images": image(map[string]any{"disk": "/x"})},
		`of format "vmdk"`:             {"images": image(map[string]any{"disk": "/x", "format": "vmdk"})},
		`a format and no disk`:         {"images": image(map[string]any{"kernel": "/x", "format": "raw"})},
		`and no kernel`:                {"images": image(map[string]any{"disk": "/x", "format": "raw", "append": "quiet"})},
		`image "a b"`:                  {"images": map[string]any{"a b": map[string]any{"kernel": "/x"}}},
		`type small has 0 cpus`:        {"types": map[string]any{"small": map[string]any{"memory_mib": 64}}},
		`type small has memory_mib 63`: {"types": map[string]any{"small": map[string]any{"cpus": 1, "memory_mib": 63}}},
		`type small has disk_mib -1`:   {"types": map[string]any{"small": map[string]any{"cpus": 1, "memory_mib": 64, "disk_mib": -1}}},
		`network lan has the bridge`:   {"networks": map[string]any{"lan": map[string]any{"bridge": "br0,script=/x"}}},
		`image_tool is "img"`:          {"image_tool": "img"},
		`network "../x" is not`:        {"networks": map[string]any{"../x": map[string]any{}}},
		`unknown field "script"`:       {"networks": map[string]any{"lan": map[string]any{"script": "/x"}}},
	} {
		s := settings(t)
		maps.Copy(s, change)
		_, err := qemu.Open(t.Context(), infra.Options{Owner: owner, Settings: s})
		if !errors.Is(err, infra.ErrInvalidRequest) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, which does not say %s", change, err, says)
		}
	}
}

func TestEveryStateOfTheEmulatorIsAStatus(t *testing.T) {
	for state, want := range map[string]infra.Status{
		"running": infra.StatusRunning, "prelaunch": infra.StatusPending, "inmigrate": infra.StatusPending,
		"paused": infra.StatusSuspended, "suspended": infra.StatusSuspended, "shutdown": infra.StatusStopping,
		"internal-error": infra.StatusStopped, "io-error": infra.StatusStopped, "guest-panicked": infra.StatusStopped, "watchdog": infra.StatusStopped,
		"colo": infra.StatusUnknown, "debug": infra.StatusUnknown, "": infra.StatusUnknown,
	} {
		if got := qemu.StatusOf(state); got != want {
			t.Errorf("%q is %s, not %s", state, got, want)
		}
	}
}
