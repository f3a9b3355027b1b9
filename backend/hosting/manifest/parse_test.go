package manifest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
)

func TestADocumentIsTakenOrItsOneFaultIsShown(t *testing.T) {
	for _, d := range documents() {
		t.Run(d.name, func(t *testing.T) {
			stack, err := manifest.Parse([]byte(d.text))
			if d.at == "" {
				if err != nil || stack == nil || len(stack.Services) == 0 {
					t.Fatalf("got %v, %v", stack, err)
				}
				return
			}
			var wrong *manifest.Error
			if !errors.As(err, &wrong) || !errors.Is(err, backend.ErrInvalidManifest) || stack != nil {
				t.Fatalf("got %v, %v", stack, err)
			}
			at := d.at
			if at == whole {
				at = ""
			}
			if len(wrong.Faults) != 1 || wrong.Faults[0].Path != at || wrong.Faults[0].Message == "" {
				t.Errorf("the faults are %q, the one is to be at %s", wrong.Faults, at)
			}
		})
	}
}

func TestWhatIsNoDocumentIsSaidWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "is empty",
		" \n":                       "is empty",
		"{":                         "not JSON; look at line 1, column 1",
		"{\n  \"image\": nginx\n}":  "look at line 2, column 13",
		`{"image":"nginx",}`:        "look at line 1, column 18",
		`{"image":"nginx"} {}`:      "look at line 1, column 19",
		`{"image":"ngi` + "\xff\"}": "not UTF-8",
		"image: nginx":              "look at line 1, column 1",
	} {
		_, err := manifest.Parse([]byte(text))
		if !errors.Is(err, backend.ErrInvalidManifest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAllFaultsComeAtOnceAndInOneLine(t *testing.T) {
	_, err := manifest.Parse([]byte(`{"services":{
		"web":{"image":"","ports":{"80/tcp":{"host_port":80},"x":{}},"env":{"PATH":"secret-a"},"depends_on":{"db":{"condition":"service_healthy"},"c":{"condition":"service_started"}}},
		"db":{"labels":{"Traefik.x":"secret-b"},"args":["secret-c\u0000"],"stop_grace_period":"secret-d"},
		"B\u202eAD":{"image":"a","user":"secret e"}}}`))
	var wrong *manifest.Error
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range wrong.Faults {
		got[f.Path] = true
	}
	want := []string{
		"services.web.image", `services.web.ports["80/tcp"].host_port`, "services.web.ports.x", "services.web.env.PATH", "services.web.depends_on.db.condition", "services.web.depends_on.c",
		"services.db.image", `services.db.labels["Traefik.x"]`, "services.db.args[0]", "services.db.stop_grace_period", `services["B\u202eAD"]`, `services["B\u202eAD"].user`,
	}
	for _, at := range want {
		if !got[at] {
			t.Errorf("%s is not among %q", at, wrong.Faults)
		}
	}
	if len(got) != len(want) || len(wrong.Faults) != len(want) {
		t.Errorf("there are %d faults, not %d: %q", len(wrong.Faults), len(want), wrong.Faults)
	}
	if text := err.Error(); strings.Contains(text, "secret") || strings.Contains(text, "\n") || strings.Contains(text, "\u202e") {
		t.Errorf("%q", text)
	}
}

func TestAHostileDocumentMakesNoLongError(t *testing.T) {
	long := strings.Repeat("é", 5000)
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, `,"%s%d":1`, long, i)
	}
	_, err := manifest.Parse([]byte(`{"image":"nginx"` + b.String() + `}`))
	var wrong *manifest.Error
	if !errors.As(err, &wrong) || len(wrong.Faults) != 50 || wrong.More != 10 {
		t.Fatalf("%v", err)
	}
	if text := err.Error(); len(text) > 50*512 || !strings.HasSuffix(text, "; and 10 more") || !strings.Contains(text, `\u00e9...`) {
		t.Errorf("it has %d bytes and ends in %q", len(text), text[len(text)-20:])
	}
}

func TestEachCircleIsToldOnceWithAServiceOfIt(t *testing.T) {
	service := func(name string, on ...string) string {
		var d []string
		for _, o := range on {
			d = append(d, fmt.Sprintf(`%q:{"condition":"service_started"}`, o))
		}
		return fmt.Sprintf(`%q:{"image":"a","depends_on":{%s}}`, name, strings.Join(d, ","))
	}
	_, err := manifest.Parse([]byte(`{"services":{` + strings.Join([]string{
		service("a", "b"), service("b", "c"), service("c", "d", "g"), service("d", "b"), // b, c, d
		service("x", "y"), service("y", "x", "g"), // x, y
		service("g"), service("h", "x"),
	}, ",") + `}}`))
	var wrong *manifest.Error
	if !errors.As(err, &wrong) || len(wrong.Faults) != 2 {
		t.Fatal(err)
	}
	for i, want := range []manifest.Fault{
		{Path: "services.b.depends_on", Message: `leads back to the service itself over 3 of them, next "c"; break the circle`},
		{Path: "services.x.depends_on", Message: `leads back to the service itself over 2 of them, next "y"; break the circle`},
	} {
		if wrong.Faults[i] != want {
			t.Errorf("got %q, want %q", wrong.Faults[i], want)
		}
	}
}

func TestADocumentIsReadAsItIsMeant(t *testing.T) {
	stack := parse(t, `{"services":{
		"web":{"image":"nginx","ports":{"9000/tcp":{},"80/udp":{},"443/tcp":{"ingress":true}},"expose":["9000","53/udp","53/udp"],
			"command":["a"],"args":["b"],"env":{"A":"1"},"labels":{"l":"2"},"tmpfs":["/b","/a"],"user":"1:2","init":true,"stop_grace_period":"1m30s",
			"depends_on":{"db":{"condition":"service_healthy"},"a":{"condition":"service_started"}}},
		"a":{"image":"a","health_check":{"test":["NONE"]}},
		"db":{"image":"b","health_check":{"test":["CMD-SHELL","x"],"interval":"1s","retries":4,"start_period":5000000000}}}}`)
	web, db := stack.Services["web"], stack.Services["db"]
	if got, want := fmt.Sprint(*web), "{docker.io/library/nginx:latest [80/udp 443/tcp 9000/tcp] [53/udp] map[A:1] map[l:2] [a] [b] <nil> [/a /b] 1:2 [{a service_started} {db service_healthy}] 1m30s true}"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := fmt.Sprint(*db.HealthCheck), "{CMD-SHELL [x] 1s 5s 30s 4}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if db.StopGrace != 10*time.Second || stack.Services["a"].HealthCheck != nil {
		t.Errorf("got %v and %v", db.StopGrace, stack.Services["a"].HealthCheck)
	}
	if got := fmt.Sprint(stack.Order()); got != "[a db web]" {
		t.Errorf("the order is %s", got)
	}
}

func TestHostNamesLeadToTheHintThenToKnownPortsThenToTheLowest(t *testing.T) {
	for ports, want := range map[string]string{
		`{}`:                                     "none",
		`{"53/udp":{}}`:                          "none",
		`{"9000/tcp":{},"3000/tcp":{}}`:          "3000/tcp",
		`{"3000/tcp":{},"8080/tcp":{}}`:          "8080/tcp",
		`{"80/tcp":{},"22/tcp":{}}`:              "80/tcp",
		`{"80/udp":{},"8080/tcp":{}}`:            "8080/tcp",
		`{"80/tcp":{},"8080/tcp":{}}`:            "80/tcp",
		`{"80/tcp":{},"9/tcp":{"ingress":true}}`: "9/tcp",
	} {
		got := "none"
		if p, ok := parse(t, one(`"ports":`+ports)).Services["app"].RoutePort(); ok {
			got = p.String()
		}
		if got != want {
			t.Errorf("%s leads to %s, not %s", ports, got, want)
		}
	}
}

func parse(t testing.TB, text string) *manifest.Stack {
	t.Helper()
	stack, err := manifest.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return stack
}
