package config

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

// head is the part of a configuration that has to be there.
const head = `"cluster": {"id": "prod"},
"shard": {"name": "eu-1a", "provider": {"kind": "fake"}, "server": {"registration_addr": "10.0.0.5:1", "agent_addr": "10.0.0.5:2"}},`

// with is a configuration of the head and more.
func with(more string) string { return "{" + head + more + "}" }

func mustParse(t testing.TB, text string) *Config {
	t.Helper()
	c, err := Parse("test", []byte(text))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return c
}

func TestWhatIsLeftOutIsItsDefaultAndZeroIsZero(t *testing.T) {
	c := mustParse(t, with(""))
	want := defaults()
	want.Cluster, want.Shard.Name, want.Shard.Provider, want.Shard.Server = c.Cluster, c.Shard.Name, c.Shard.Provider, c.Shard.Server
	want.static = map[GroupKey]Group{}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v\nis not\n%+v", c, want)
	}
	zero := strings.Replace(with(`"templates": {"t": {"kind": "abc", "arch": "amd64"}}, "groups": {"a": {"g": {"template": "t"}, "h": {"template": "t", "drain_timeout": "0", "size": 0}}}`),
		`"name": "eu-1a"`, `"name": "eu-1a", "timings": {"default_drain_timeout": "0s"}`, 1)
	c = mustParse(t, zero)
	if c.Shard.Timings.DefaultDrainTimeout != 0 {
		t.Error("no drain became the default one")
	}
	for name, size := range map[string]int{"g": 1, "h": 0} {
		if m, err := c.Merge(MergeRequest{Tenant: "a", Group: name}); err != nil || m.DrainTimeout != 0 || m.Size != size {
			t.Errorf("group %s: %+v, %v", name, m, err)
		}
	}
}

func TestAGroupMayDrainWhereTheShardDoesNotAndTheOtherWayRound(t *testing.T) {
	c := mustParse(t, with(`"templates": {"t": {"kind": "abc", "arch": "amd64"}}, "groups": {"a": {"g": {"template": "t"}, "h": {"template": "t", "drain_timeout": "0s"}, "i": {"template": "t", "drain_timeout": "7m"}}}`))
	for name, want := range map[string]string{"g": "5m0s", "h": "0s", "i": "7m0s"} {
		if m, err := c.Merge(MergeRequest{Tenant: "a", Group: name}); err != nil || m.DrainTimeout.String() != want {
			t.Errorf("group %s drains %v, %v; want %s", name, m.DrainTimeout, err, want)
		}
	}
}

func TestEveryMistakeIsNamedWithItsPlace(t *testing.T) {
	template := `"templates": {"t": {"kind": "abc", "arch": "amd64"` // goes on
	for name, row := range map[string]struct{ text, want string }{
		"nothing":            {"", "test:1:1: "},
		"no object":          {"[]", "test:1:1: this is a list, and has to be an object"},
		"half":               {"{\n  \"cluster\": ", "test:2:14: "},
		"two":                {"{} {}", "test:1:4: "},
		"not UTF-8":          {"{\"a\": \"\xff\"}", "test:1:8: this is not UTF-8"},
		"deep":               {strings.Repeat("[", 100000), "test:1:65: this nests deeper than 64"},
		"unknown":            {"{\n  \"clutser\": {}}", "test:2:3: clutser: this key is not known; those here are certificates, cluster, defaults, groups, images, shard, storage, templates"},
		"twice":              {`{"cluster": {"id": "a", "id": "b"}}`, "test:1:25: cluster.id: this key stands here a second time"},
		"null":               {`{"cluster": null}`, "test:1:13: cluster: null says nothing here"},
		"deep null":          {with(`"defaults": {"args": {"a": {"b": null}}}`), "defaults.args.a.b: null says nothing here"},
		"a number as time":   {with(`"certificates": {"ca_ttl": 5}`), `certificates.ca_ttl: this is the number 5, and has to be a duration`},
		"a negative time":    {with(`"certificates": {"ca_ttl": "-5s"}`), "less than nothing"},
		"a time of no unit":  {with(`"certificates": {"ca_ttl": "5"}`), "is not a duration"},
		"a list as text":     {`{"cluster": {"id": ["x"]}}`, "cluster.id: this is a list, and has to be a text in quotes"},
		"a half size":        {with(template + `, "size": 1.5}}`), "templates.t.size: this is the number 1.5, and has to be a whole number"},
		"a text as list":     {with(template + `, "required_vars": "x"}}`), "has to be a list"},
		"a large number":     {with(`"defaults": {"args": {"n": 9007199254740993123}}`), "is not kept exactly; write it as a text"},
		"missing":            {`{}`, "cluster.id: this is missing"},
		"missing template":   {with(`"groups": {"a": {"g": {"template": "x"}}}`), `groups.a.g.template: there is no template "x"; there are none`},
		"a tenant's name":    {with(`"groups": {"A.b": {}}`), "has to be 1 to 32"},
		"a group's name":     {with(template + `}}, "groups": {"a": {"g--h": {"template": "t"}}}`), `"g--h" has to be`},
		"a size too large":   {with(template + `, "size": 1001}}`), "1001 has to be 0 to 1000"},
		"a kind":             {with(`"templates": {"t": {"kind": "ABC", "arch": "amd64"}}`), `templates.t.kind: "ABC" has to be three letters`},
		"an arch":            {with(`"templates": {"t": {"kind": "abc", "arch": "x86"}}`), "has to be one of amd64, arm64"},
		"an image's name":    {with(`"images": {"debian-13": {"id": "x"}}`), ".Image.debian-13"},
		"an empty image":     {with(`"images": {"x": {}}`), "this needs an id, or filters"},
		"a double image":     {with(`"images": {"x": {"id": "i", "owners": ["o"]}}`), "leave one of them out"},
		"a missing image":    {with(template + `, "required_images": ["x"]}}`), `required_images[0]: there is no image "x"`},
		"a variable":         {with(`"defaults": {"vars": {"a-b": "x"}}`), "a variable's name has to be"},
		"http":               {with(`"defaults": {"userdata": {"url": "http://x/y"}}`), "allow_http"},
		"a URL's user":       {with(`"defaults": {"userdata": {"url": "https://u:p@x/y"}}`), "without a user"},
		"no content":         {with(`"defaults": {"userdata": {}}`), "content is missing"},
		"both":               {with(`"defaults": {"userdata": {"url": "https://x", "content": "x"}}`), "has content, not a url"},
		"not base64":         {with(`"defaults": {"userdata": {"content": "???", "encoding": "base64"}}`), "this is not base64"},
		"gzip inline":        {with(`"defaults": {"userdata": {"content": "x", "encoding": "gzip"}}`), "base64+gzip"},
		"a leaf too old":     {with(`"certificates": {"ca_ttl": "24h", "server_ttl": "25h"}`), "does not outlive"},
		"a pool of nobody":   {with(template + `, "subnet_pool": "p"}}`), `there is no subnet pool "p"; there are none`},
		"addresses the same": {strings.Replace(with(""), "10.0.0.5:2", "10.0.0.5:1", 1), "is registration_addr too"},
		"a port":             {strings.Replace(with(""), "10.0.0.5:2", "10.0.0.5:0", 1), "has to be host:port"},
		"no collection":      {strings.Replace(with(""), `"name"`, `"gc": {"interval": "0s"}, "name"`, 1), "both 0, or neither"},
		"late collection":    {strings.Replace(with(""), `"name"`, `"gc": {"interval": "5m"}, "name"`, 1), "has to be longer than interval"},
		"ages":               {strings.Replace(with(""), `"name"`, `"expiry": {"eligible_age": "2h", "forced_age": "1h"}, "name"`, 1), "has to be less than forced_age"},
		"one subnet twice":   {strings.Replace(with(""), `"name"`, `"subnet_pools": {"a": ["s"], "b": ["s"]}, "name"`, 1), `subnet "s" is in the pool "a" already`},
		"no pool":            {strings.Replace(with(template+`}}, "groups": {"a": {"g": {"template": "t"}}}`), `"name"`, `"subnet_pools": {"a": ["s"]}, "name"`, 1), "subnet_pool is missing"},
		"an unknown pool":    {strings.Replace(with(""), `"name"`, `"dynamic_subnet_pools": ["x"], "name"`, 1), "dynamic_subnet_pools[0]: there is no subnet pool"},
	} {
		c, err := Parse("test", []byte(row.text))
		if c != nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v; want %s", name, err, row.want)
		}
	}
}

func TestAllMistakesAreNamedAtOnceAndNoneThatOnlyFollows(t *testing.T) {
	_, err := Parse("test", []byte(brokenText))
	var all *Errors
	if !errors.As(err, &all) || len(all.Problems) != 5 {
		t.Errorf("%v", err)
	}
}

func TestAnErrorAboutAHostileTextIsShort(t *testing.T) {
	long := strings.Repeat("x", 100000)
	text := `{"cluster": {"id": "` + long + `"}`
	for range 5000 {
		text += `, "` + long[:20] + `": 1`
	}
	_, err := Parse("test", []byte(text+"}"))
	if err == nil || len(err.Error()) > 64<<10 || !strings.Contains(err.Error(), "more") {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
	_, err = Parse("test", make([]byte, MaxBytes+1))
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func TestTheSameTextInAnotherSpellingIsTheSame(t *testing.T) {
	one := mustParse(t, with(`"defaults": {"userdata": {"content": "x"}, "args": {"n": 1.0, "z": -0.0}}`))
	two := mustParse(t, "// a comment\n"+with(`/* and */ "defaults": {"args": {"z": 0, "n": 1e0,}, "userdata": {"encoding": "plain", "source": "inline", "content": "\u0078"}},`))
	if !reflect.DeepEqual(one, two) {
		t.Errorf("%+v\nis not\n%+v", one.Defaults, two.Defaults)
	}
}

// Brackets in texts and comments are no levels, and comments hide none.
func TestOnlyBracketsThatNestAreCounted(t *testing.T) {
	many := strings.Repeat("[", 100)
	mustParse(t, "// "+many+"\n/* "+many+" */"+with(`"defaults": {"vars": {"a": "\"`+many+`"}}`))
	for _, text := range []string{"// x\n" + many, "/* x */" + many, `"\"" ` + many} {
		if _, err := Parse("test", []byte(text)); err == nil || !strings.Contains(err.Error(), "nests deeper") {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	raw, err := os.ReadFile(referenceFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(brokenText))
	f.Add([]byte(with("")))
	for _, piece := range strings.Split(string(raw), "```") {
		f.Add([]byte(strings.TrimPrefix(piece, "jsonc\n")))
	}
	for _, odd := range []string{"", "{", `{"a":`, "//", "/*", `"\`, "[[[[", `{"groups":{"":{"":{}}}}`, `{"defaults":{"args":{"a":[{}]}}}`} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("fuzz", text)
		if (c == nil) != (err != nil) {
			t.Fatalf("%v, %v", c, err)
		}
		if err != nil && !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
		if c == nil {
			return
		}
		for _, key := range c.GroupKeys() {
			m, err := c.Merge(MergeRequest{Tenant: key.Tenant, Group: key.Group})
			if err != nil || m.InfraHash == "" || m.RuntimeHash == "" || m.Overridden() {
				t.Fatalf("%v: %+v, %v", key, m, err)
			}
		}
	})
}

func FuzzParseGroups(f *testing.F) {
	f.Add([]byte(`{"acme": {"web": {"template": "t", "size": 1, "drain_timeout": "0s"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		groups, err := ParseGroups("fuzz", text)
		if (groups == nil) != (err != nil) || err != nil && !errors.Is(err, ErrInvalid) {
			t.Fatalf("%v, %v", groups, err)
		}
	})
}
