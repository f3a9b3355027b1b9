package qemu

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// settings are a Config in the words of a configuration file.
type settings struct {
	Dir         string             `json:"dir"`
	Program     string             `json:"program"`
	Detach      string             `json:"detach"`
	ImageTool   string             `json:"image_tool"`
	Accelerator string             `json:"accelerator"`
	Images      map[string]Image   `json:"images"`
	Types       map[string]Type    `json:"types"`
	Networks    map[string]Network `json:"networks"`
	MaxMachines int                `json:"max_machines"`
	StopGrace   string             `json:"stop_grace"`
}

// Open is an infra.OpenFunc. Its settings are the fields of Config in lower case
// with underscores; a duration is a string, and programs that are not given are
// those of the search path.
func Open(_ context.Context, o infra.Options) (infra.Provider, error) {
	c, err := parseSettings(o.Settings)
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		at   *string
		name string
	}{{&c.Program, "qemu-system-x86_64"}, {&c.ImageTool, "qemu-img"}} {
		if *p.at != "" {
			continue
		}
		if *p.at, err = exec.LookPath(p.name); err != nil {
			return nil, invalid("%w; Debian has it in qemu-system-x86 and qemu-utils", err)
		}
	}
	return New(o, c)
}

func parseSettings(given map[string]any) (c Config, err error) {
	raw, err := json.Marshal(given)
	if err != nil {
		return c, invalid("settings: %w", err)
	}
	var s settings
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return c, invalid("settings of %s: %w", Kind, err)
	}
	c = Config{
		Dir: s.Dir, Program: s.Program, Detach: s.Detach, ImageTool: s.ImageTool, Accelerator: s.Accelerator,
		Images: s.Images, Types: s.Types, Networks: s.Networks, MaxMachines: s.MaxMachines,
	}
	if s.StopGrace != "" {
		if c.StopGrace, err = time.ParseDuration(s.StopGrace); err != nil {
			return c, invalid("stop_grace: %w", err)
		}
	}
	return c, nil
}
