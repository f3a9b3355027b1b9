package netns

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"os/exec"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// settings are a Config in the words of a configuration file.
type settings struct {
	Dir                string            `json:"dir"`
	Program            []string          `json:"program"`
	Engine             string            `json:"engine"`
	Agent              []string          `json:"agent"`
	Subnets            map[string]string `json:"subnets"`
	Bridge             string            `json:"bridge"`
	ConnectMachines    bool              `json:"connect_machines"`
	LeaveEngineDown    bool              `json:"leave_engine_down"`
	InsecureRegistries []string          `json:"insecure_registries"`
	StopGrace          string            `json:"stop_grace"`
}

// Open is an infra.OpenFunc. Its settings are the fields of Config in lower case
// with underscores; ranges and durations are strings, and an engine that is not
// given is the dockerd of the search path.
func Open(_ context.Context, o infra.Options) (infra.Provider, error) {
	c, err := parseSettings(o.Settings)
	if err != nil {
		return nil, err
	}
	if c.Engine == "" {
		if c.Engine, err = exec.LookPath("dockerd"); err != nil {
			return nil, invalid("engine: %w", err)
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
		Dir: s.Dir, Program: s.Program, Engine: s.Engine, Agent: s.Agent,
		ConnectMachines: s.ConnectMachines, LeaveEngineDown: s.LeaveEngineDown, InsecureRegistries: s.InsecureRegistries,
	}
	for name, text := range s.Subnets {
		if c.Subnets == nil {
			c.Subnets = map[string]netip.Prefix{}
		}
		if c.Subnets[name], err = netip.ParsePrefix(text); err != nil {
			return c, invalid("subnet %s: %w", name, err)
		}
	}
	if s.Bridge != "" {
		if c.Bridge, err = netip.ParsePrefix(s.Bridge); err != nil {
			return c, invalid("bridge: %w", err)
		}
	}
	if s.StopGrace != "" {
		if c.StopGrace, err = time.ParseDuration(s.StopGrace); err != nil {
			return c, invalid("stop_grace: %w", err)
		}
	}
	return c, nil
}
