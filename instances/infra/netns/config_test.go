package netns

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

func settingsOf(t testing.TB, text string) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheExampleOfSettingsIsValid(t *testing.T) {
	raw, err := os.ReadFile("testdata/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseSettings(settingsOf(t, string(raw)))
	if err == nil {
		err = c.withDefaults().validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Subnets) != 2 || c.StopGrace != 5*time.Second || len(c.Program) != 2 || !c.Bridge.IsValid() || len(c.InsecureRegistries) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	const good = `"dir":"/d","program":["/p"],"engine":"/e"`
	for _, c := range []struct{ settings, says string }{
		{`{"program":["/p"],"engine":"/e"}`, "dir"},
		{`{"dir":"d","program":["/p"],"engine":"/e"}`, `"d"`},
		{`{"dir":"/d","engine":"/e"}`, "program"},
		{`{"dir":"/d","program":["/p"],"engine":"dockerd"}`, "engine"},
		{`{` + good + `,"flavour":1}`, "flavour"},
		{`{` + good + `,"agent":["berth-node"]}`, "agent"},
		{`{` + good + `,"subnets":{"a":"10.0.0.0"}}`, "subnet a"},
		{`{` + good + `,"subnets":{"a":"10.0.0.1/24"}}`, "subnet a"},
		{`{` + good + `,"subnets":{"a":"10.0.0.0/31"}}`, "subnet a"},
		{`{` + good + `,"subnets":{"a":"fd00::/64"}}`, "subnet a"},
		{`{` + good + `,"subnets":{"A":"10.0.0.0/24"}}`, `"A"`},
		{`{` + good + `,"subnets":{"a":"10.0.0.0/24","b":"10.0.0.128/25"}}`, "overlaps"},
		{`{` + good + `,"subnets":{"a":"172.16.0.0/12"}}`, "own network"},
		{`{` + good + `,"bridge":"172.29.0.0/24"}`, "bridge"},
		{`{` + good + `,"bridge":"x"}`, "bridge"},
		{`{` + good + `,"stop_grace":"soon"}`, "stop_grace"},
		{`{` + good + `,"stop_grace":"1500ms"}`, "stop_grace"},
		{`{` + good + `,"stop_grace":"1h"}`, "stop_grace"},
	} {
		o := infra.Options{Owner: infra.Owner{ClusterID: "c", Shard: "s"}, Settings: settingsOf(t, c.settings)}
		p, err := Open(context.Background(), o)
		if !errors.Is(err, infra.ErrInvalidRequest) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v; want %q", c.settings, p, err, c.says)
		}
	}
}

func TestASubnetThatIsNotNamedIsTheDefaultOne(t *testing.T) {
	c := Config{}.withDefaults()
	for _, name := range []string{"", DefaultSubnet} {
		if pool, err := c.pool(name); err != nil || pool != defaultPool {
			t.Errorf("%q: %v, %v", name, pool, err)
		}
	}
	c.Subnets = map[string]netip.Prefix{"lab": defaultPool}
	if pool, err := c.pool(""); err == nil {
		t.Errorf("there is no default, and it is %v", pool)
	}
}

func TestMountsAreReadAsTheKernelWritesThem(t *testing.T) {
	got := parseMounts("39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n" +
		"43 27 254:0 /a /run/a\\040b rw shared:2 master:1 - ext4 /dev/vda rw\nnonsense\n")
	if len(got) != 2 || got[0] != (mount{"/sys/fs/cgroup/pids", "cgroup"}) || got[1] != (mount{"/run/a b", "ext4"}) {
		t.Errorf("%v", got)
	}
}
