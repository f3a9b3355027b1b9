package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// problems parses a source that must be refused.
func problems(t *testing.T, source string) []Problem {
	t.Helper()
	_, err := Parse([]byte(source), Options{})
	var e *Errors
	if !errors.As(err, &e) {
		t.Fatalf("Parse(%.60q) = %v, want *Errors", source, err)
	}
	return e.Problems
}

func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	got := problems(t, strings.Repeat("#", MaxSourceBytes+1))
	if len(got) != 1 || !strings.Contains(got[0].What, "1048577 bytes") {
		t.Errorf("problems: %v", got)
	}
	if _, err := Parse([]byte("name: a\nservices: {b: {image: c}}\n#"+strings.Repeat("x", MaxSourceBytes-40)), Options{}); err != nil {
		t.Errorf("a file within the bound is refused: %v", err)
	}
}

func TestAliasesCannotMultiplyAFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: shop\nservices:\n  s0: {image: a, env: &env {")
	for i := range maxEnvVars {
		fmt.Fprintf(&b, "V%d: %d, ", i, i)
	}
	b.WriteString("}}\n")
	for i := 1; i < maxServices; i++ {
		fmt.Fprintf(&b, "  s%d: {image: a, env: *env}\n", i)
	}
	got := problems(t, b.String())
	if len(got) == 0 || !strings.Contains(got[0].What, "too many values") {
		t.Errorf("problems: %v", got[:min(len(got), 3)])
	}
	laughs := "name: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'a'; c < 'j'; c++ {
		laughs += fmt.Sprintf("k%c: &%c [%s]\n", c, c+1, strings.TrimSuffix(strings.Repeat("*"+string(c)+", ", 10), ", "))
	}
	if got := problems(t, laughs); len(got) > 20 {
		t.Errorf("%d problems", len(got))
	}
}

func TestAReportIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: shop\n")
	for i := range 250 {
		fmt.Fprintf(&b, "key%d: x\n", i)
	}
	_, err := Parse([]byte(b.String()), Options{File: "big.yaml"})
	var e *Errors
	if !errors.As(err, &e) || len(e.Problems) != yamlfile.MaxProblems || e.More != 151 {
		t.Fatalf("%d problems and %d more", len(e.Problems), e.More)
	}
	if !strings.HasSuffix(err.Error(), "\nbig.yaml: and 151 more problems") {
		t.Errorf("the report ends %q", err.Error()[len(err.Error())-60:])
	}
}

func TestBoundsOfCountsAreHeld(t *testing.T) {
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+", ", n), ", ") + "]"
	}
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "k%d: v, ", i)
		}
		return "{" + strings.TrimSuffix(b.String(), ", ") + "}"
	}
	for name, c := range map[string]struct{ body, want string }{
		"labels":       {"labels: " + keys(maxLabels+1), "there are 33 labels"},
		"label key":    {"labels: {" + strings.Repeat("k", 256) + ": v}", "the label's name has 256 bytes"},
		"label value":  {"labels: {k: " + strings.Repeat("v", 4097) + "}", "the value has 4097 bytes"},
		"variables":    {"env: " + keys(maxEnvVars+1), "there are 1001 variables"},
		"variable":     {"env: {A: " + strings.Repeat("v", maxArgBytes-1) + "}", "name and value have 131072 bytes"},
		"command":      {"command: " + list(maxCommandItems+1, "a"), "the command has 1001 words"},
		"word":         {"command: [" + strings.Repeat("a", maxArgBytes+1) + "]", "the word has 131072 bytes"},
		"domains":      {"domains: " + list(maxDomains+1, "a"), "there are 101 domains"},
		"volumes":      {"volumes: " + list(maxVolumes+1, "{name: a, path: /a}"), "there are 51 volumes"},
		"publish":      {"publish: " + list(maxPublished+1, "{port: 1, host_port: 1}"), "there are 51 published ports"},
		"no such name": {"? " + strings.Repeat("k", 2000) + "\n    : v", "this key is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			got := problems(t, "name: shop\nservices:\n  web:\n    image: a\n    "+c.body+"\n")
			if len(got) != 1 || got[0].What != c.want || got[0].Line != 5 {
				t.Errorf("problems: %.300v", got)
			}
			if len(got[0].String()) > 1000 {
				t.Errorf("the message has %d bytes", len(got[0].String()))
			}
		})
	}
	var b strings.Builder
	for i := range maxServices + 5 {
		fmt.Fprintf(&b, "  s%d: {image: a}\n", i)
	}
	if got := problems(t, "name: shop\nservices:\n"+b.String()); len(got) != 1 || got[0].What != "the app has too many services" {
		t.Errorf("problems: %v", got)
	}
}

func TestTheReplicasOfAnAppAreBounded(t *testing.T) {
	file := func(n int) string {
		var b strings.Builder
		b.WriteString("name: shop\nservices:\n")
		for i := 0; n > 0; i++ {
			fmt.Fprintf(&b, "  s%d: {image: a, replicas: %d}\n", i, min(n, MaxReplicas))
			n -= min(n, MaxReplicas)
		}
		return b.String()
	}
	if _, err := Parse([]byte(file(MaxContainers)), Options{}); err != nil {
		t.Errorf("as many as there may be: %v", err)
	}
	if got := problems(t, file(MaxContainers+1)); len(got) != 1 || got[0].What != "the services come to 201 containers" || got[0].Path != "services" {
		t.Errorf("one too many: %v", got)
	}
}

func TestAHostileFileCostsNoMoreThanItsSize(t *testing.T) {
	const size = MaxSourceBytes
	for _, unit := range []string{"[", "{a: ", "- ", "- - ", "? ", "&a ", "*a ", "a\n", "#\n", "- #c\n", " #c\n- a\n", "a: b\n", "a: [", "\"\\x41", "'",
		"\n", " ", "\t", "!a ", "|\n", "%a\n", "---\n", "a: b\n---\n", "<<: ", "{", "}", ",", "\x00", "\xff", "\u2028", "a: &b\n", "[a,"} {
		source := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		_, err := Parse([]byte(source), Options{})
		var e *Errors
		if !errors.As(err, &e) || len(e.Problems) == 0 {
			t.Errorf("%q repeated: %v, want *Errors", unit, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%q repeated takes %v", unit, took)
		}
	}
}

func TestASourceThatIsNotUTF8IsRefusedAtTheByte(t *testing.T) {
	got := problems(t, "name: shop\nservices:\n  wéb\xff: x\n")
	if len(got) != 1 || got[0].Line != 3 || got[0].Column != 6 {
		t.Errorf("problems: %v", got)
	}
}

func TestAllProblemsComeInTheOrderOfTheFile(t *testing.T) {
	got := problems(t, "services:\n  web: {port: 0, domains: [a..b], image: X, replicas: 0}\nname: X\n")
	if len(got) != 5 {
		t.Fatalf("%d problems, want 5: %v", len(got), got)
	}
	for i := 1; i < len(got); i++ {
		if got[i].Line < got[i-1].Line || got[i].Line == got[i-1].Line && got[i].Column < got[i-1].Column {
			t.Errorf("%v after %v", got[i], got[i-1])
		}
	}
}

func TestAParsedAppSurvivesTheStore(t *testing.T) {
	app, err := Parse([]byte(everything), testOptions("app.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	var again App
	if err := json.Unmarshal(raw, &again); err != nil || !reflect.DeepEqual(*app, again) {
		t.Errorf("%+v came back as %+v, %v", app, again, err)
	}
}

// everything names every key there is, each with a value that is no default.
const everything = `
version: 1
name: shop
node: {labels: {disk: ssd}}
on_disconnect: keep
services:
  web:
    image: web:1
    entrypoint: [/entry]
    command: [serve]
    env: {A: b, TOKEN: {secret: API_TOKEN, required: false}, KEY: {secret: true}}
    port: 8080
    domains: [shop.example]
    path: /app
    strategy: recreate
    health:
      readiness: {path: /ready, port: 81, interval: 1s, timeout: 1s, expected_status: 204}
      liveness: {exec: [check], interval: 1m, timeout: 3s, failures: 5}
      ready_timeout: 2m
    stable_window: 1s
    drain_timeout: 1s
    stop_grace: 1s
    hold_timeout: 1s
    depends_on: {migrate: {condition: completed}, api: {}}
    depends_timeout: 1m
    resources: {memory: 64Mi, cpu: 1}
    volumes:
      - {name: data, path: /data, shared: true}
      - {host_path: /srv/a, path: /a, read_only: true}
    tmpfs: [/tmp, {path: /run, size: 16Mi}]
    publish: [{port: 80, host_port: 8080, public: true}]
    labels: {team: shop}
    user: "1000:1000"
    working_dir: /app
    stop_signal: SIGINT
    init: true
    read_only_root: true
    hardened: true
    inits:
      - {name: fetch, image: fetch, user: root}
      - {name: unpack, image: fetch, depends_on: [fetch], tmpfs: [/tmp]}
    after: [proxy]
    sidecars:
      proxy:
        image: proxy
        entrypoint: [/proxy]
        command: [--to, web]
        env: {TOKEN: {secret: API_TOKEN}}
        port: 9090
        health: {readiness: {grpc: true}, liveness: {tcp: true}}
        resources: {memory: 32Mi}
        volumes: [{name: data, path: /data, shared: true}]
        publish: [{port: 9090, host_port: 9090}]
        hardened: true
      log: {image: log, depends_on: [proxy], health: {readiness: {port: 7000}}}
  api: {image: api, replicas: 2, keep_previous: 1m, depends_on: [migrate]}
  migrate: {image: api, restart: no, completion_timeout: 5m}
  worker: {image: api, replicas: 4, strategy: rolling, max_surge: 50%, max_unavailable: 1}
`

// TestEveryFieldOfAServiceCanBeWritten fails when the model has a field that no
// key of app.yaml sets.
func TestEveryFieldOfAServiceCanBeWritten(t *testing.T) {
	app, err := Parse([]byte(everything), testOptions("app.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Parse([]byte("name: a\nservices: {x: {image: x}}"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := plain.Services["x"]
	for i := range reflect.TypeFor[Service]().NumField() {
		// What a library can ask for and app.yaml cannot.
		name := reflect.TypeFor[Service]().Field(i).Name
		written := name == "Stateful" || name == "Alias"
		for _, s := range app.Services {
			written = written || !reflect.DeepEqual(reflect.ValueOf(s).Field(i).Interface(), reflect.ValueOf(x).Field(i).Interface())
		}
		if !written {
			t.Errorf("Service.%s is at its default in every service of a file that names every key", name)
		}
	}
}

// envSource is a file with one variable whose value is written in double
// quotes; characters that escape picks are written as their code.
func envSource(text string, escape func(rune) bool) string {
	var b strings.Builder
	for _, r := range text {
		if escape(r) {
			fmt.Fprintf(&b, `\U%08X`, r)
			continue
		}
		b.WriteRune(r)
	}
	return "name: a\nservices:\n  b:\n    image: c\n    env:\n      V: \"" + b.String() + "\"\n"
}

func TestAnyTextIsAValueOfAVariable(t *testing.T) {
	all := func(rune) bool { return true }
	some := func(r rune) bool { return r == '"' || r == '\\' || !unicode.IsPrint(r) }
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(strings.ToValidUTF8(rapid.String().Draw(t, "text"), ""), "\x00", "")
		for _, source := range []string{envSource(text, all), envSource(text, some)} {
			app, err := Parse([]byte(source), Options{})
			if err != nil {
				t.Fatalf("%q: %v", source, err)
			}
			if got := app.Services["b"].Env; len(got) != 1 || got[0].Value != text {
				t.Fatalf("%q arrives as %v", text, got)
			}
		}
	})
}

func TestAPlainValueOfAVariableIsTheTextAsWritten(t *testing.T) {
	plain := rapid.SampledFrom([]string{"1", "01", "0x1F", "0o17", "1.10", "1e3", "1_000", "-0", ".5", "+1", "true", "True", "yes", "no", "on", "off", "y",
		"2026-01-01", "2026-01-01T00:00:00Z", ".inf", ".nan", "12:30:45", "0b1", "1.", "190:20:30", "a=b", "$HOME", "a#b"})
	rapid.Check(t, func(t *rapid.T) {
		text := plain.Draw(t, "text")
		app, err := Parse([]byte("name: a\nservices: {b: {image: c, env: {V: "+text+"}}}"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := app.Services["b"].Env[0].Value; got != text {
			t.Fatalf("%s arrives as %q", text, got)
		}
	})
}
