package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend/config"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// one is a file with one backend that has those lines more.
func one(lines ...string) string {
	return "backends:\n  - name: a\n    url: http://a\n    " + strings.Join(lines, "\n    ") + "\n"
}

func TestWhatIsWrongIsSaidWithItsLine(t *testing.T) {
	const signed = "secret: " + canary
	for name, c := range map[string]struct {
		source string
		want   []string // each in the error, in this order
	}{
		"nothing":                  {"", []string{"b.yaml:1:1: the file is empty; write backends"}},
		"no backends":              {"backends: []", []string{"b.yaml:1:11: backends: there is no backend"}},
		"another file":             {"services: {}", []string{"b.yaml:1:1: services: this key is not known", "backends is missing"}},
		"backends are no list":     {"backends: {a: b}", []string{"this is a map, not a list"}},
		"not YAML":                 {"backends: [", []string{"b.yaml:1:"}},
		"an unknown key":           {one(signed, "skuz: [x]"), []string{"b.yaml:5:5: backends[0].skuz: this key is not known; did you mean skus?"}},
		"a key known elsewhere":    {one(signed, "callback_secret: x"), []string{"b.yaml:5:5:", "the key is secret_file"}},
		"a key twice":              {one(signed, "url: http://b"), []string{"b.yaml:5:5: backends[0].url: the key is written twice", "line 3"}},
		"a key without a value":    {one(signed, "skus:"), []string{"backends[0].skus: there is no value"}},
		"an unknown key in tls":    {one(signed, "tls: {insecure: true}"), []string{"backends[0].tls.insecure: this key is not known"}},
		"an unknown breaker key":   {one(signed, "circuit_breaker: {max: 1}"), []string{"circuit_breaker.max: this key is not known"}},
		"no name and no url":       {"backends: [{unsigned: true}]", []string{"name is missing", "url is missing"}},
		"a name that is none":      {"backends: [{name: 'a b', url: 'http://a', unsigned: true}]", []string{`backends[0].name: "a b" is not a name`}},
		"two of a name":            {"backends:\n- {name: a, url: 'http://a', unsigned: true}\n- {name: a, url: 'http://b', unsigned: true}", []string{"b.yaml:3:10: backends[1].name: the backend on line 2 has the same name"}},
		"two at one place":         {"backends:\n- {name: a, url: 'http://a/', unsigned: true}\n- {name: b, url: 'http://a', unsigned: true}", []string{"backends[1].url: the backend on line 2 has the same url"}},
		"two defaults":             {"backends:\n- {name: a, url: 'http://a', unsigned: true, default: true}\n- {name: b, url: 'http://b', unsigned: true, default: true}", []string{"b.yaml:3:", "backends[1].default: there is another default; keep one; the other is on line 2"}},
		"a SKU twice":              {one(signed, "skus: [x, y, x]"), []string{"backends[0].skus[2]: the SKU is listed twice"}},
		"a SKU that is empty":      {one(signed, `skus: [""]`), []string{"skus[0]: \"\" is not a SKU"}},
		"a SKU with a space":       {one(signed, `skus: ["x "]`), []string{"is not a SKU"}},
		"one SKU, not a list":      {one(signed, `skus: x`), []string{"this is a text, not a list"}},
		"a URL of another kind":    {"backends: [{name: a, url: 'ftp://a', unsigned: true}]", []string{"does not begin with http:// or https://"}},
		"a URL without a host":     {"backends: [{name: a, url: 'http://:80', unsigned: true}]", []string{"the URL has no host"}},
		"a URL with a query":       {"backends: [{name: a, url: 'http://a?', unsigned: true}]", []string{"a query or a fragment"}},
		"a URL with a fragment":    {"backends: [{name: a, url: 'http://a#', unsigned: true}]", []string{"a query or a fragment"}},
		"a URL with a wrong port":  {"backends: [{name: a, url: 'http://a:70000', unsigned: true}]", []string{"the port in the URL is out of range"}},
		"a URL that is none":       {"backends: [{name: a, url: 'http://%zz', unsigned: true}]", []string{"this is not a URL"}},
		"a timeout without a unit": {one(signed, "timeout: 30"), []string{"backends[0].timeout:", "for example 30s"}},
		"a timeout out of range":   {one(signed, "timeout: 1h"), []string{"1h is out of range"}},
		"a page that is too large": {one(signed, "page_limit: 5001"), []string{"page_limit: 5001 is out of range"}},
		"a threshold of none":      {one(signed, "circuit_breaker: {failure_threshold: 0}"), []string{"0 is out of range"}},
		"default is no yes or no":  {one(signed, "default: maybe"), []string{"this is not true or false"}},
		"no secret":                {one("timeout: 30s"), []string{"b.yaml:2:5: backends[0]: there is no secret; put the secret into a file"}},
		"unsigned is false":        {one("unsigned: false"), []string{"there is no secret"}},
		"a secret and unsigned":    {one(signed, "unsigned: true"), []string{"backends[0].unsigned: there is a secret as well"}},
		"a secret and a file":      {one(signed, "secret_file: x"), []string{"there is a secret_file too"}},
		"a short secret":           {one("secret: 0123456789abcdef0123456789abcde"), []string{"the secret has 31 bytes; the least is 32"}},
		"an empty secret":          {one(`secret: ""`), []string{"the secret has 0 bytes"}},
		"a secret of many lines":   {one(`secret: "` + canary + `\n"`), []string{"more than one line"}},
		"a secret with a space":    {one(`secret: " ` + canary + `"`), []string{"begins or ends with a space"}},
		"everything at once": {
			"backends:\n  - name: '?'\n    url: x\n    timeout: y\n  - naem: b\n    skus: z\n",
			[]string{"b.yaml:2:11:", "b.yaml:3:10:", "b.yaml:4:14:", "b.yaml:5:5:", "did you mean name?", "b.yaml:6:11:"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.Parse([]byte(c.source), config.Options{File: "b.yaml", Dir: t.TempDir()})
			if got != nil || !errors.Is(err, config.ErrInvalid) {
				t.Fatalf("Parse = %v, %v", got, err)
			}
			noCanary(t, "the error", err.Error())
			rest := err.Error()
			for _, text := range c.want {
				_, after, found := strings.Cut(rest, text)
				if !found {
					t.Fatalf("the error does not say %q there:\n%v", text, err)
				}
				rest = after
			}
		})
	}
}

func TestTooManyBackendsAreRefusedOnce(t *testing.T) {
	source := strings.Builder{}
	source.WriteString("backends:\n")
	for i := range 1100 {
		fmt.Fprintf(&source, "- {name: b%d, url: 'http://b%d', unsigned: true}\n", i, i)
	}
	_, err := config.Parse([]byte(source.String()), config.Options{})
	var problems *yamlfile.Errors
	if !errors.As(err, &problems) || problems.Count() != 1 || problems.Problems[0].Line != 1002 || problems.File != "backends.yaml" {
		t.Errorf("%v", err)
	}
}

func TestNoSlipOfTheHandShowsASecret(t *testing.T) {
	for name, line := range map[string]string{
		"a number":                 "secret: 12345678901234567890123456789012",
		"a tag":                    "secret: !" + canary,
		"a tag with a text":        "secret: !!str " + canary,
		"an alias":                 "secret: *" + canary,
		"an anchor":                "secret: &" + canary,
		"a list":                   "secret: [" + canary + "]",
		"a map":                    "secret: {" + canary + "}",
		"an unknown key":           "secret_text: " + canary,
		"a key of another program": "hmac_secret: " + canary,
		"twice":                    "secret: " + canary + "\n    secret: " + canary,
		"no space":                 "secret:" + canary,
		"no colon":                 "secret " + canary + ":",
		"an equals sign":           "secret=" + canary + ": x",
		"a quote not closed":       "secret: '" + canary,
		"a colon in it":            "secret: a: " + canary,
		"a bad escape":             `secret: "\q` + canary + `"`,
		"in a URL":                 "secret_file: x\n  - name: b\n    url: https://user:" + canary + "@b",
		"in a URL that is none":    "secret_file: x\n  - name: b\n    url: 'https://user:" + canary + "@b:port'",
		"in braces without space":  "tls: {secret:" + canary + "}",
		"quoted without a space":   `tls: {secret:"` + canary + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse([]byte(one(line)), config.Options{Dir: t.TempDir()})
			if err == nil {
				t.Fatalf("%q was taken", line)
			}
			noCanary(t, "the error", err.Error())
			if strings.Contains(err.Error(), "1234567890") {
				t.Errorf("the error shows the number: %v", err)
			}
		})
	}
}

func TestASecretThatOthersCanReadIsNotTaken(t *testing.T) {
	for mode, fine := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o700: true, 0o640: false, 0o604: false, 0o620: false, 0o644: false} {
		t.Run(mode.String(), func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "a.secret", canary, mode)
			_, err := config.Load(put(t, dir, "backends.yaml", one("secret_file: a.secret"), 0o644))
			if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "backends.yaml:4:18: backends[0].secret_file: others could read or change the file: it has mode") {
				t.Errorf("a secret_file of mode %04o: %v", mode, err)
			}
			_, err = config.Load(put(t, dir, "backends.yaml", one("secret: "+canary), mode))
			if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "backends[0].secret: there is a secret in this file, and others could read or change the file: it has mode") {
				t.Errorf("a secret in a file of mode %04o: %v", mode, err)
			}
			if err != nil {
				noCanary(t, "the error", err.Error())
			}
		})
	}
}

func TestASecretFileThatIsNoneIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "empty", "", 0o600)
	put(t, dir, "newline", "\n", 0o600)
	put(t, dir, "long", strings.Repeat("x", 5000), 0o600)
	put(t, dir, "lines", canary+"\n"+canary+"\n", 0o600)
	put(t, dir, "blank", canary+"\n\n", 0o600)
	put(t, dir, "nul", canary+"\x00", 0o600)
	for file, want := range map[string]string{
		"none": "no such file", "folder": "no regular file", "empty": "has 0 bytes", "newline": "has 0 bytes", "long": "longer than",
		"lines": "more than one line", "blank": "more than one line", "nul": "NUL", `""`: "name of the file is empty",
	} {
		t.Run(file, func(t *testing.T) {
			_, err := config.Parse([]byte(one("secret_file: "+file)), config.Options{Dir: dir})
			if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), "backends.yaml:4:18: backends[0].secret_file: ") || !strings.Contains(err.Error(), want) {
				t.Fatalf("%v; want %q", err, want)
			}
			noCanary(t, "the error", err.Error())
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, source := range []string{example, one("tls: {}"), "backends: [&a {name: a}, *a]", "backends: {<<: x}"} {
		f.Add(source)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, source string) {
		c, err := config.Parse([]byte(source), config.Options{Dir: dir})
		if (c == nil) == (err == nil) {
			t.Fatalf("%v beside %v", c, err)
		}
		if err != nil {
			return
		}
		names, defaults := map[string]bool{}, 0
		for _, b := range c.Backends {
			if b.Name == "" || b.URL == "" || names[b.Name] {
				t.Fatalf("taken: %+v", b)
			}
			if names[b.Name] = true; b.Default {
				defaults++
			}
		}
		if len(c.Backends) == 0 || defaults > 1 {
			t.Fatalf("%d backends, %d defaults", len(c.Backends), defaults)
		}
	})
}
