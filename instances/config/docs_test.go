package config

import (
	"errors"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/spec/yamlfile/yamlfiletest"
)

const referenceFile = "../../docs/reference/machines-jsonc.md"

// section is a heading of the reference.
type section struct {
	of       any      // a value of the type, with its defaults
	required []string // keys that have to be there
	path     string   // of the value in a configuration, where it has one place
}

func sections() map[string]section {
	c := defaults()
	return map[string]section{
		"Keys of the file":      {*c, []string{"cluster", "shard"}, ""},
		"Keys of cluster":       {c.Cluster, []string{"id"}, "cluster"},
		"Keys of shard":         {c.Shard, []string{"name", "provider", "server"}, "shard"},
		"Keys of provider":      {c.Shard.Provider, []string{"kind"}, "shard.provider"},
		"Keys of server":        {c.Shard.Server, []string{"registration_addr", "agent_addr"}, "shard.server"},
		"Keys of userdata_urls": {c.Shard.UserdataURLs, nil, "shard.userdata_urls"},
		"Keys of timings":       {c.Shard.Timings, nil, "shard.timings"},
		"Keys of gc":            {c.Shard.GC, nil, "shard.gc"},
		"Keys of election":      {c.Shard.Election, nil, "shard.election"},
		"Keys of expiry":        {c.Shard.Expiry, nil, "shard.expiry"},
		"Keys of storage":       {c.Storage, []string{"endpoint", "bucket", "access_key_file", "secret_key_file", "seal_key_file"}, ""},
		"Keys of an image":      {Image{}, nil, ""},
		"Keys of certificates":  {c.Certificates, nil, "certificates"},
		"Keys of defaults":      {c.Defaults, nil, ""},
		"Keys of a template":    {Template{}, []string{"kind", "arch"}, ""},
		"Keys of userdata":      {Userdata{}, nil, ""},
		"Keys of a group":       {Group{}, nil, ""},
	}
}

func reference(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func fenced(t *testing.T, lang string) string {
	t.Helper()
	m := regexp.MustCompile("(?s)```" + lang + "\n(.*?)```").FindStringSubmatch(reference(t))
	if m == nil {
		t.Fatalf("the reference has no block of %s", lang)
	}
	return m[1]
}

// short writes a duration as the reference does: 5m, not 5m0s.
func short(d Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Keys and defaults are read off the types, so that a new one has to be described.
func TestEveryKeyIsInTheReferenceWithItsDefault(t *testing.T) {
	keys, facts := map[string][]yamlfiletest.Key{}, map[string][]string{}
	known := map[reflect.Type]bool{}
	for heading, s := range sections() {
		v := reflect.ValueOf(s.of)
		known[v.Type()] = true
		for name, i := range fieldsOf(v.Type()) {
			keys[heading] = append(keys[heading], yamlfiletest.Key{Name: name, Required: contains(s.required, name)})
			if d, ok := v.Field(i).Interface().(Duration); ok {
				facts[heading+"/"+name] = []string{"`" + short(d) + "`"}
			}
		}
	}
	yamlfiletest.CheckReference(t, referenceFile, keys, facts)
	everyStruct(reflect.TypeFor[Config](), func(s reflect.Type) {
		if !known[s] {
			t.Errorf("no section describes %v", s)
		}
	})
}

func contains(all []string, s string) bool {
	for _, one := range all {
		if one == s {
			return true
		}
	}
	return false
}

// everyStruct visits the structs that a text can fill.
func everyStruct(t reflect.Type, visit func(reflect.Type)) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		everyStruct(t.Elem(), visit)
	case reflect.Struct:
		visit(t)
		for _, i := range fieldsOf(t) {
			everyStruct(t.Field(i).Type, visit)
		}
	}
}

func TestTheExampleOfTheReferenceIsValidAndHasEveryKey(t *testing.T) {
	example := fenced(t, "jsonc")
	c, err := Parse("example", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	everyStruct(reflect.TypeFor[Config](), func(s reflect.Type) {
		for name := range fieldsOf(s) {
			if !strings.Contains(example, `"`+name+`":`) {
				t.Errorf("the example has no %s of %v", name, s)
			}
		}
	})
	m, err := c.Merge(MergeRequest{Tenant: "acme", Group: "web"})
	if err != nil {
		t.Fatal(err)
	}
	if m.Args["disk"].(map[string]any)["gb"] != 40.0 || m.Args["disk"].(map[string]any)["kind"] != "nvme" ||
		m.Vars["region"] != "eu" || m.Vars["role"] != "web" || m.DrainTimeout != 0 {
		t.Errorf("the example merges to %+v", m)
	}
}

func TestWhatTheExampleSaysOfTimesIsWhatLeavingThemOutMeans(t *testing.T) {
	c, err := Parse("example", []byte(fenced(t, "jsonc")))
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	c.Shard.Expiry = Expiry{} // the one part that shows something else
	if got := c.Shard; got.Timings != want.Shard.Timings || got.GC != want.Shard.GC || got.Election != want.Shard.Election ||
		got.UserdataURLs != want.Shard.UserdataURLs || c.Certificates != want.Certificates {
		t.Errorf("%+v is not %+v", c, want)
	}
}

// TestTheBoundsOfTheReferenceAreThoseOfTheDecoder tries the two bounds of each time,
// and what is just outside of them.
func TestTheBoundsOfTheReferenceAreThoseOfTheDecoder(t *testing.T) {
	bounds := regexp.MustCompile("`([0-9a-z]+)` to `([0-9a-z]+)`")
	tried := 0
	for heading, s := range sections() {
		_, table, _ := strings.Cut(reference(t), "## "+heading+"\n")
		table, _, _ = strings.Cut(table, "\n## ")
		for line := range strings.Lines(table) {
			m, name := bounds.FindStringSubmatch(line), regexp.MustCompile("^\\| `([a-z_]+)`").FindStringSubmatch(line)
			if m == nil || name == nil || s.path == "" {
				continue
			}
			tried++
			low, high := parseDuration(t, m[1]), parseDuration(t, m[2])
			for d, good := range map[Duration]bool{low: true, high: true, low - 1: false, high + 1: false} {
				if got := !outOfBounds(s.path+"."+name[1], d); got != good {
					t.Errorf("%s.%s: %v is taken %t, the reference says %t", s.path, name[1], d, got, good)
				}
			}
		}
	}
	if want := 1 + 10 + 4 + 3 + 3 + 5; tried != want {
		t.Errorf("%d times have bounds in the reference, not %d", tried, want)
	}
}

func parseDuration(t *testing.T, s string) Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return Duration(d)
}

// outOfBounds reports whether a configuration with this time there is refused for its
// bounds, whatever else is wrong.
func outOfBounds(path string, d Duration) bool {
	c := defaults()
	v := reflect.ValueOf(c).Elem()
	for key := range strings.SplitSeq(path, ".") {
		v = v.Field(fieldsOf(v.Type())[key])
	}
	v.SetInt(int64(d))
	k := &checker{}
	k.config(c)
	for _, p := range k.problems {
		if p.Path == path && strings.Contains(p.Message, "has to be") && strings.Contains(p.Message, " to ") && !strings.Contains(p.Message, "longer") {
			return true
		}
	}
	return false
}

func TestTheMessagesOfTheReferenceAreReal(t *testing.T) {
	_, err := Parse("config.jsonc", []byte(brokenText))
	if !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if want := fenced(t, "text"); err.Error()+"\n" != want {
		t.Errorf("the messages are\n%v\nand the reference says\n%s", err, want)
	}
}

const brokenText = `// what people get wrong
{
  "cluster": {"id": "Prod"},
  "shard": {
    "name": "eu-1a",
    "provider": {"kind": 7},
    "server": {"registration_addr": "10.0.0.5:8992", "agent_addr": "10.0.0.5:8994"},
    "timings": {"launch_timeout": "21d"},
    "colour": "red",
  },
  "groups": {
    "acme": {"web": {"size": 3}},
  },
}
`
