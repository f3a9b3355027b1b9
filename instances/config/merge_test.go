package config

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const merging = `
"images": {"golden": {"id": "x"}},
"defaults": {
	"args": {"a": {"x": 1, "y": {"z": 1}}, "list": [1, 2], "over": {"gone": true}},
	"vars": {"d": "defaults", "t": "defaults", "g": "defaults", "r": "defaults"},
	"userdata": {"content": "defaults"},
},
"templates": {
	"plain": {"kind": "abc", "arch": "amd64"},
	"full": {
		"kind": "xyz", "arch": "arm64", "size": 2, "instance_type": "template", "subnet_pool": "one",
		"args": {"a": {"x": 2, "y": {"t": 1}}, "list": [3], "over": "text"},
		"vars": {"t": "template", "g": "template", "r": "template"},
		"userdata": {"content": "template"},
		"required_images": ["golden"], "required_vars": ["zz", "r", "aa"], "required_secrets": ["s"],
	},
},
"groups": {
	"acme": {
		"bare": {"template": "full"},
		"full": {"template": "full", "size": 5, "instance_type": "group", "subnet_pool": "two", "args": {"a": {"y": {"g": 1}}}, "vars": {"g": "group", "r": "group"}},
		"low": {"template": "plain", "subnet_pool": "one"},
	},
	"other": {"bare": {"template": "plain", "subnet_pool": "two"}},
}`

func mergeConfig(t testing.TB) *Config {
	t.Helper()
	return mustParse(t, strings.Replace(with(merging), `"name"`, `"subnet_pools": {"one": ["s1"], "two": ["s2"]}, "name"`, 1))
}

func merge(t testing.TB, c *Config, req MergeRequest) *MergedConfig {
	t.Helper()
	m, err := c.Merge(req)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEachLayerIsOverTheOneBelow(t *testing.T) {
	c := mergeConfig(t)
	for name, row := range map[string]struct {
		req                        MergeRequest
		kind, kindType, pool, data string
		size                       int
		args                       string
		vars                       map[string]string
	}{
		"defaults": {
			MergeRequest{Tenant: "acme", Group: "low"}, "abc", "", "one", "defaults", 1,
			`{"a": {"x": 1, "y": {"z": 1}}, "list": [1, 2], "over": {"gone": true}}`,
			map[string]string{"d": "defaults", "t": "defaults", "g": "defaults", "r": "defaults"},
		},
		"template": {
			MergeRequest{Tenant: "acme", Group: "bare"}, "xyz", "template", "one", "template", 2,
			`{"a": {"x": 2, "y": {"z": 1, "t": 1}}, "list": [3], "over": "text"}`,
			map[string]string{"d": "defaults", "t": "template", "g": "template", "r": "template"},
		},
		"group": {
			MergeRequest{Tenant: "acme", Group: "full"}, "xyz", "group", "two", "template", 5,
			`{"a": {"x": 2, "y": {"z": 1, "t": 1, "g": 1}}, "list": [3], "over": "text"}`,
			map[string]string{"d": "defaults", "t": "template", "g": "group", "r": "group"},
		},
		"request": {
			MergeRequest{
				Tenant: "acme", Group: "full", InstanceType: "request", SubnetPool: "one",
				Vars: map[string]string{"r": "request"}, Args: map[string]any{"a": map[string]any{"y": map[string]any{"r": 1}}, "list": []any{}},
			}, "xyz", "request", "one", "template", 5,
			`{"a": {"x": 2, "y": {"z": 1, "t": 1, "g": 1, "r": 1}}, "list": [], "over": "text"}`,
			map[string]string{"d": "defaults", "t": "template", "g": "group", "r": "request"},
		},
		"another template": {
			MergeRequest{Tenant: "acme", Group: "full", Template: "plain"}, "abc", "group", "two", "defaults", 5,
			`{"a": {"x": 1, "y": {"z": 1, "g": 1}}, "list": [1, 2], "over": {"gone": true}}`,
			map[string]string{"d": "defaults", "t": "defaults", "g": "group", "r": "group"},
		},
	} {
		m := merge(t, c, row.req)
		if m.Kind != row.kind || m.InstanceType != row.kindType || m.SubnetPool != row.pool || m.Userdata.Content != row.data || m.Size != row.size {
			t.Errorf("%s: %+v", name, m)
		}
		if want := object(t, row.args); !reflect.DeepEqual(m.Args, want) {
			t.Errorf("%s: args %v, want %v", name, m.Args, want)
		}
		if !maps.Equal(m.Vars, row.vars) {
			t.Errorf("%s: vars %v", name, m.Vars)
		}
	}
}

func TestAGroupOfOneNameIsEachTenantsOwn(t *testing.T) {
	c := mergeConfig(t)
	one, two := merge(t, c, MergeRequest{Tenant: "acme", Group: "bare"}), merge(t, c, MergeRequest{Tenant: "other", Group: "bare"})
	if one.Template != "full" || two.Template != "plain" {
		t.Errorf("%s and %s", one.Template, two.Template)
	}
}

func TestWhatIsMissingIsSaidInOrder(t *testing.T) {
	if got := merge(t, mergeConfig(t), MergeRequest{Tenant: "acme", Group: "full"}).MissingVars(); !slices.Equal(got, []string{"aa", "zz"}) {
		t.Errorf("missing %v", got)
	}
}

func TestARequestIsRefusedByRule(t *testing.T) {
	c := mergeConfig(t)
	deep := map[string]any{}
	for range maxDepth + 2 {
		deep = map[string]any{"d": deep}
	}
	for name, row := range map[string]struct {
		req  MergeRequest
		want error
	}{
		"no group":      {MergeRequest{Tenant: "acme"}, ErrGroupNotFound},
		"other tenant":  {MergeRequest{Tenant: "other", Group: "full"}, ErrGroupNotFound},
		"no template":   {MergeRequest{Tenant: "acme", Group: "full", Template: "x"}, ErrTemplateNotFound},
		"no pool":       {MergeRequest{Tenant: "acme", Group: "full", SubnetPool: "x"}, ErrInvalid},
		"a bad var":     {MergeRequest{Tenant: "acme", Group: "full", Vars: map[string]string{"a b": ""}}, ErrInvalid},
		"a bad type":    {MergeRequest{Tenant: "acme", Group: "full", InstanceType: "a\nb"}, ErrInvalid},
		"no JSON":       {MergeRequest{Tenant: "acme", Group: "full", Args: map[string]any{"f": func() {}}}, ErrInvalid},
		"no number":     {MergeRequest{Tenant: "acme", Group: "full", Args: map[string]any{"f": math.NaN()}}, ErrInvalid},
		"a huge number": {MergeRequest{Tenant: "acme", Group: "full", Args: map[string]any{"f": int64(1)<<53 + 1}}, ErrInvalid},
		"no UTF-8":      {MergeRequest{Tenant: "acme", Group: "full", Args: map[string]any{"f": "\xff"}}, ErrInvalid},
		"too deep":      {MergeRequest{Tenant: "acme", Group: "full", Args: deep}, ErrInvalid},
	} {
		if m, err := c.Merge(row.req); m != nil || !errors.Is(err, row.want) {
			t.Errorf("%s: %v, %v; want %v", name, m, err, row.want)
		}
	}
}

func TestAMachineHasTheHashesOfItsGroupWhateverItWasAskedFor(t *testing.T) {
	c := mergeConfig(t)
	group := merge(t, c, MergeRequest{Tenant: "acme", Group: "full"})
	if group.InfraHash != HashInfra(group) || group.RuntimeHash != HashRuntime(group) || group.Overridden() {
		t.Errorf("a machine without overrides has the hashes %s, %s", group.InfraHash, group.RuntimeHash)
	}
	for name, req := range map[string]MergeRequest{
		"type":     {InstanceType: "request"},
		"pool":     {SubnetPool: "one"},
		"args":     {Args: map[string]any{"n": 1}},
		"vars":     {Vars: map[string]string{"n": "1"}},
		"template": {Template: "plain"},
	} {
		req.Tenant, req.Group = "acme", "full"
		m := merge(t, c, req)
		if m.InfraHash != group.InfraHash || m.RuntimeHash != group.RuntimeHash {
			t.Errorf("%s: the machine has drifted from its group as soon as it is made", name)
		}
		if !m.Overridden() {
			t.Errorf("%s: the machine is said to be as its group is", name)
		}
	}
}

func TestAHashIsOfItsOwnFieldsAlone(t *testing.T) {
	base := merge(t, mergeConfig(t), MergeRequest{Tenant: "acme", Group: "full"})
	if !strings.HasPrefix(base.InfraHash, "sha256:") || len(base.InfraHash) != 7+64 {
		t.Errorf("hash %s", base.InfraHash)
	}
	for name, row := range map[string]struct {
		change         func(*MergedConfig)
		infra, runtime bool
	}{
		"args":      {func(m *MergedConfig) { m.Args["n"] = 1.0 }, true, false},
		"type":      {func(m *MergedConfig) { m.InstanceType = "n" }, true, false},
		"pool":      {func(m *MergedConfig) { m.SubnetPool = "n" }, true, false},
		"user data": {func(m *MergedConfig) { m.Userdata.Content = "n" }, true, false},
		"kind":      {func(m *MergedConfig) { m.Kind = "nnn" }, true, false},
		"arch":      {func(m *MergedConfig) { m.Arch = "n" }, true, false},
		"vars":      {func(m *MergedConfig) { m.Vars["n"] = "n" }, false, true},
		"size":      {func(m *MergedConfig) { m.Size = 99 }, false, false},
		"drain":     {func(m *MergedConfig) { m.DrainTimeout = 1 }, false, false},
		"required":  {func(m *MergedConfig) { m.RequiredVars = nil }, false, false},
		"template":  {func(m *MergedConfig) { m.Template = "n" }, false, false},
	} {
		m := base.Clone()
		row.change(m)
		if got := HashInfra(m) != base.InfraHash; got != row.infra {
			t.Errorf("%s changes the hash of the machine: %t", name, got)
		}
		if got := HashRuntime(m) != base.RuntimeHash; got != row.runtime {
			t.Errorf("%s changes the hash of what runs: %t", name, got)
		}
	}
	if !reflect.DeepEqual(base, merge(t, mergeConfig(t), MergeRequest{Tenant: "acme", Group: "full"})) {
		t.Error("a change of a copy changed what was copied")
	}
}

// The hashes are in records, so that a change of their form would replace every
// machine.
func TestHashesStayWhatTheyAre(t *testing.T) {
	m := merge(t, mergeConfig(t), MergeRequest{Tenant: "acme", Group: "full"})
	const infra = "sha256:e5040dd9bb2a2761ca00db567d5340603156a59569b696e01674dc3ecb4d88e9"
	const runtime = "sha256:8c7e60b5775a6dd34d2e3d367a64da88963f00dce2ba0619e6b8a0c0eb4f7cf3"
	if m.InfraHash != infra || m.RuntimeHash != runtime {
		t.Errorf("hashes %s and %s", m.InfraHash, m.RuntimeHash)
	}
	if empty := HashRuntime(&MergedConfig{Vars: map[string]string{}}); empty != HashRuntime(&MergedConfig{}) {
		t.Error("no variables have two hashes")
	}
	if none := HashInfra(&MergedConfig{Args: map[string]any{"f": func() {}}}); none != "" {
		t.Errorf("what is no JSON has the hash %s", none)
	}
}

// args draws arguments that nest.
func args() *rapid.Generator[map[string]any] {
	key := rapid.StringMatching(`[a-d]`)
	leaf := rapid.OneOf(
		rapid.Map(rapid.IntRange(-5, 5), func(i int) any { return float64(i) }),
		rapid.Map(rapid.StringMatching(`[a-c<&]{0,3}`), func(s string) any { return s }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
	)
	value := leaf
	for range 3 {
		below := value
		value = rapid.OneOf(leaf,
			rapid.Map(rapid.SliceOfN(below, 0, 3), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(key, below, 0, 3), func(m map[string]any) any { return m }))
	}
	return rapid.MapOfN(key, value, 0, 4)
}

func vars() *rapid.Generator[map[string]string] {
	return rapid.MapOfN(rapid.StringMatching(`[a-e]`), rapid.StringMatching(`[a-z]{0,3}`), 0, 4)
}

// drawn is a configuration with one group, of drawn layers, and a request.
func drawn(t *rapid.T) (*Config, MergeRequest) {
	c := defaults()
	c.Defaults = Defaults{Args: args().Draw(t, "defaults"), Vars: vars().Draw(t, "default vars"), Userdata: &Userdata{Source: "inline", Encoding: "plain", Content: "x"}}
	c.Templates = map[string]Template{"t": {Kind: "abc", Arch: "amd64", Args: args().Draw(t, "template"), Vars: vars().Draw(t, "template vars")}}
	c.Groups = Groups{"a": {"g": {Template: "t", Args: args().Draw(t, "group"), Vars: vars().Draw(t, "group vars")}}}
	c.settle()
	return c, MergeRequest{Tenant: "a", Group: "g", Args: args().Draw(t, "request"), Vars: vars().Draw(t, "request vars")}
}

func spelled(t *rapid.T, v any) string {
	raw, err := canonical(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// spoil writes into every map and list that can be reached.
func spoil(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			spoil(value)
			v[key] = "spoilt"
		}
		v["spoilt"] = true
	case []any:
		for i, value := range v {
			spoil(value)
			v[i] = "spoilt"
		}
	}
}

func TestAMergeNeitherChangesNorSharesWhatItIsMadeOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, req := drawn(t)
		config, request := spelled(t, c), spelled(t, req)
		first := merged(t, c, req)
		kept := spelled(t, first)
		spoilt := merged(t, c, req)
		spoil(spoilt.Args)
		for key := range spoilt.Vars {
			spoilt.Vars[key] = "spoilt"
		}
		spoilt.Userdata.Content = "spoilt"
		if spelled(t, c) != config || spelled(t, req) != request {
			t.Fatal("who changes what was merged changes the configuration or the request")
		}
		if spelled(t, merged(t, c, req)) != kept {
			t.Fatal("the same merge gives something else the second time")
		}
		spoil(req.Args)
		if spelled(t, first) != kept {
			t.Fatal("who changes the request changes what was merged")
		}
	})
}

func merged(t *rapid.T, c *Config, req MergeRequest) *MergedConfig {
	m, err := c.Merge(req)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMergingTwiceIsMergingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := args().Draw(t, "a"), args().Draw(t, "b")
		once := mergeArgs(a, b)
		if spelled(t, mergeArgs(once, b)) != spelled(t, once) {
			t.Fatal("the same layer a second time changes the result")
		}
		if spelled(t, mergeArgs(a, a)) != spelled(t, a) {
			t.Fatal("a layer over itself is another")
		}
		v, w := vars().Draw(t, "v"), vars().Draw(t, "w")
		if !maps.Equal(mergeVars(mergeVars(v, w), w), mergeVars(v, w)) {
			t.Fatal("variables laid over twice are others")
		}
	})
}

// TestAHashDoesNotKnowTheOrderOfKeys writes one configuration in two orders.
func TestAHashDoesNotKnowTheOrderOfKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, req := drawn(t)
		write := func(order []string) string {
			var b strings.Builder
			b.WriteString("{" + head + `"templates": {"t": {"kind": "abc", "arch": "amd64", "args": {`)
			for _, key := range order {
				b.WriteString(`"` + key + `": ` + spelled(t, req.Args[key]) + ",")
			}
			b.WriteString(`}}}, "groups": {"a": {"g": {"template": "t"}}}}`)
			return b.String()
		}
		keys := slices.Sorted(maps.Keys(req.Args))
		var hashes []string
		for _, order := range [][]string{keys, rapid.Permutation(keys).Draw(t, "order")} {
			c, err := Parse("test", []byte(write(order)))
			if err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, merged(t, c, MergeRequest{Tenant: "a", Group: "g"}).InfraHash)
		}
		if hashes[0] != hashes[1] {
			t.Fatalf("two orders have the hashes %v", hashes)
		}
	})
}

func TestWhatARecordKeepsHasTheSameHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, req := drawn(t)
		m := merged(t, c, req)
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back MergedConfig
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		if HashInfra(&back) != HashInfra(m) || HashRuntime(&back) != HashRuntime(m) || back.InfraHash != m.InfraHash || back.DrainTimeout != m.DrainTimeout {
			t.Fatalf("%s reads back as %+v", raw, back)
		}
	})
}

func TestNumbersOfEveryTypeAreOne(t *testing.T) {
	c := mergeConfig(t)
	want := HashInfra(merge(t, c, MergeRequest{Tenant: "acme", Group: "full", Args: map[string]any{"n": 1.0}}))
	for _, n := range []any{1, int8(1), uint64(1), float32(1)} {
		if got := HashInfra(merge(t, c, MergeRequest{Tenant: "acme", Group: "full", Args: map[string]any{"n": n}})); got != want {
			t.Errorf("a %T has another hash", n)
		}
	}
}

func TestADurationIsATextWithItsUnit(t *testing.T) {
	for text, want := range map[string]string{"504h": "504h0m0s", "1h30m": "1h30m0s", "0": "0s", "0s": "0s", "250ms": "250ms"} {
		if d, err := ParseDuration(text); err != nil || d.String() != want {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
	for text, want := range map[string]string{"21d": `write "504h"`, "2w": `write "336h"`, "5": "not a duration", "": "not a duration", "-1s": "less than nothing", "2000000h": "a hundred years"} {
		if d, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %s", text, d, err, want)
		}
	}
	var d Duration
	for _, raw := range []string{"5", `"21d"`, "null", "{}"} {
		if err := json.Unmarshal([]byte(raw), &d); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, %v", raw, d, err)
		}
	}
}
