package manifest_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
)

// hostile are documents that nobody would write who wants to run something.
func hostile() map[string]string {
	nines := strings.Repeat("9", 100_000)
	deps := func(n int) string { // each service waits for all that come after it
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"s%d":{"image":"a","depends_on":{`, i)
			for j := i + 1; j < n; j++ {
				fmt.Fprintf(&b, `"s%d":{"condition":"service_started"},`, j)
			}
			fmt.Fprintf(&b, `"x":{"condition":"service_started"}}},`)
		}
		return `{"services":{` + b.String() + `"x":{"image":"a"}}}`
	}
	return map[string]string{
		"objects in objects":             `{"image":"a","env":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + "}",
		"lists in lists":                 strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000),
		"lists without an end":           strings.Repeat("[", manifest.MaxBytes),
		"seventeen deep":                 `{"image":` + strings.Repeat("[", 17) + strings.Repeat("]", 17) + "}",
		"two images":                     `{"image":"a","image":"b"}`,
		"two images, one escaped":        `{"image":"a","imag\u0065":"b"}`,
		"an image in capitals beside it": `{"image":"a","IMAGE":"b"}`,
		"two stacks":                     `{"services":{"a":{"image":"a"}},"services":{"b":{"image":"b"}}}`,
		"two services of one name":       `{"services":{"a":{"image":"a"},"a":{"image":"b"}}}`,
		"a variable twice":               `{"image":"a","env":{"A":"1","A":"2"}}`,
		"a variable twice, one escaped":  `{"image":"a","env":{"A":"1","\u0041":"2"}}`,
		"a port twice":                   `{"image":"a","ports":{"80/tcp":{},"80/tcp":{"ingress":true}}}`,
		"a port twice, in two forms":     `{"image":"a","ports":{"80/tcp":{},"080/tcp":{}}}`,
		"not UTF-8":                      "{\"image\":\"a\",\"env\":{\"A\":\"\xff\"}}",
		"cut in a character":             "{\"image\":\"a\",\"user\":\"\xe2\x82\"}",
		"UTF-16":                         "\xff\xfe{\x00\"\x00",
		"a mark of its order":            "\uFEFF{\"image\":\"a\"}",
		"half a character":               `{"image":"\ud800"}`,
		"a NUL in a variable":            `{"image":"a","env":{"A":"\u0000"}}`,
		"a NUL in a path":                `{"image":"a","tmpfs":["/a\u0000/etc"]}`,
		"an integer beyond all":          `{"image":"a","health_check":{"test":["CMD","a"],"retries":` + nines + `}}`,
		"a port beyond all":              `{"image":"a","ports":{"` + nines[:5000] + `/tcp":{}}}`,
		"a host port beyond all":         `{"image":"a","ports":{"80/tcp":{"host_port":` + nines + `}}}`,
		"a host port":                    `{"image":"a","ports":{"80/tcp":{"host_port":1}}}`,
		"a host port below zero":         `{"image":"a","ports":{"80/tcp":{"host_port":-1}}}`,
		"a duration beyond all":          `{"image":"a","stop_grace_period":` + nines + `}`,
		"a duration of the largest int":  `{"image":"a","stop_grace_period":9223372036854775807}`,
		"a duration of the least int":    `{"image":"a","stop_grace_period":-9223372036854775808}`,
		"a duration with an exponent":    `{"image":"a","stop_grace_period":1e400}`,
		"a duration in words beyond all": `{"image":"a","stop_grace_period":"` + nines[:1000] + `h"}`,
		"a number that is none":          `{"image":"a","stop_grace_period":NaN}`,
		"a comment":                      `{"image":"a"/**/}`,
		"a comma too many":               `{"image":"a",}`,
		"two documents":                  `{"image":"a"}{"image":"a"}`,
		"something behind it":            `{"image":"a"}` + "\x00",
		"cut short":                      `{"image":"a"`,
		"YAML":                           "image: a\n",
		"an anchor that grows":           "a: &a [x,x]\nb: &b [*a,*a]\n",
		"one byte too many":              `{"image":"a"}` + strings.Repeat(" ", manifest.MaxBytes-12),
		"a name of a megabyte":           `{"image":"` + strings.Repeat("a", 1<<20-20) + `"}`,
		"a key of a megabyte":            `{"image":"a","` + strings.Repeat("k", 1<<20-30) + `":1}`,
		"too many services":              `{"services":{` + strings.Repeat(`"a":{"image":"a"},`, 20_000) + `"b":{"image":"a"}}}`,
		"all wait for all":               deps(150),
		"a hundred thousand members":     `{"image":"a","env":{` + strings.Repeat(`"A":"",`, 100_000) + `"B":""}}`,
		"a path that goes up":            `{"image":"a","tmpfs":["/a/../../etc"]}`,
		"a loader that is preset":        `{"image":"a","env":{"ld_preload":"/x"}}`,
		"the engine's variables":         `{"image":"a","env":{"Docker_Host":"x"}}`,
		"the host's network":             `{"image":"a","network_mode":"host"}`,
		"all rights":                     `{"image":"a","privileged":true,"cap_add":["ALL"]}`,
		"a mount":                        `{"image":"a","volumes":["/:/host"]}`,
		"a label of the data plane":      `{"image":"a","labels":{"TRAEFIK.http.routers.x.rule":"Host(` + "`a`" + `)"}}`,
		"an image with a scheme":         `{"image":"file:///etc/passwd"}`,
		"an image with a user":           `{"image":"u:p@registry/a"}`,
		"an image that goes up":          `{"image":"../../a"}`,
		"an image with a space":          `{"image":"a --privileged"}`,
		"an image that is an option":     `{"image":"--privileged"}`,
		"a user that is not one":         `{"image":"a","user":"0:0:0"}`,
		"a user with a line's end":       `{"image":"a","user":"a\nroot"}`,
	}
}

func TestAHostileDocumentIsRefusedInBoundedTimeMemoryAndWords(t *testing.T) {
	for name, text := range hostile() {
		began := time.Now()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		stack, err := manifest.Parse([]byte(text))
		runtime.ReadMemStats(&after)
		if err == nil || stack != nil || !errors.Is(err, backend.ErrInvalidManifest) {
			t.Errorf("%s is taken: %v, %v", name, stack, err)
			continue
		}
		if backend.ClassifyValidationError(err) != backend.ValidationCodeInvalidManifest {
			t.Errorf("%s has the code %q", name, backend.ClassifyValidationError(err))
		}
		if words := err.Error(); len(words) > 50*512 || strings.ContainsAny(words, "\r\n\x00\x1b\ufeff") || !strings.HasPrefix(words, "validation error: invalid manifest") {
			t.Errorf("%s: %d bytes of words: %.300q", name, len(words), words)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 128<<20 {
			t.Errorf("%s: %d MiB are asked for", name, got>>20)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// Every good document, broken in every way that a few changed bytes can.
func TestAGoodDocumentThatIsBrokenAnywhereIsReadOrRefused(t *testing.T) {
	good := []byte(`{"services":{"a":{"image":"nginx:1","ports":{"80/tcp":{"ingress":true}},"env":{"A":"é"},"health_check":{"test":["CMD","x"],"retries":3,"interval":"1s"},"depends_on":{"b":{"condition":"service_started"}},"stop_grace_period":10000000000,"tmpfs":["/x"],"init":true},"b":{"image":"redis"}}}`)
	if _, err := manifest.Parse(good); err != nil {
		t.Fatal(err)
	}
	for at := range good {
		for _, with := range [][]byte{nil, {0}, {'"'}, {'}'}, {'['}, {'\\'}, {0xff}, {'9'}, {' '}, []byte(`\u0000`), []byte("/../"), bytes.Repeat([]byte("9"), 400)} {
			for _, text := range [][]byte{
				bytes.Join([][]byte{good[:at], with, good[at+1:]}, nil), // instead of a byte
				bytes.Join([][]byte{good[:at], with, good[at:]}, nil),   // before it
				append(bytes.Clone(good[:at]), with...),                 // and nothing more
			} {
				if stack, err := manifest.Parse(text); err != nil && (stack != nil || !errors.Is(err, backend.ErrInvalidManifest)) {
					t.Fatalf("%q: %v, %v", text, stack, err)
				}
			}
		}
	}
}
