package manifest_test

import (
	"reflect"
	"testing"
)

func hash(t testing.TB, text string) string {
	t.Helper()
	h, err := parse(t, text).Hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestDocumentsThatMeanTheSameHaveOneHash(t *testing.T) {
	check := func(s string) string { return one(`"health_check":{"test":["CMD","a"]` + s + `}`) }
	for name, same := range map[string][]string{
		"forms":        {`{"image":"nginx"}`, ` { "image" : "nginx" } `, `{"services":{"app":{"image":"nginx"}}}`},
		"images":       {`{"image":"nginx"}`, `{"image":"nginx:latest"}`, `{"image":"docker.io/library/nginx"}`, `{"image":"index.docker.io/library/nginx:latest"}`},
		"nothing said": {`{"image":"nginx"}`, one(`"ports":{},"expose":[],"env":{},"labels":{},"command":[],"args":[],"tmpfs":[],"init":false,"stop_grace_period":"10s","health_check":{"test":["NONE"],"interval":"1s"}`)},
		"order":        {one(`"env":{"A":"1","B":"2"},"tmpfs":["/a","/b"],"ports":{"1/tcp":{},"2/tcp":{}}`), `{"ports":{"2/tcp":{"host_port":0,"ingress":false},"1/tcp":{}},"tmpfs":["/b","/a"],"env":{"B":"2","A":"1"},"image":"nginx"}`},
		"durations":    {one(`"stop_grace_period":"90s"`), one(`"stop_grace_period":"1m30s"`), one(`"stop_grace_period":90000000000`), one(`"stop_grace_period":9e10`)},
		"checks":       {check(``), check(`,"timeout":"30s","interval":0,"retries":0,"start_period":"0s"`), check(`,"timeout":0`)},
		"exposed":      {one(`"expose":["80","53/udp"]`), one(`"expose":["53/udp","80/tcp","80"]`)},
		"published":    {one(`"ports":{"80/tcp":{}}`), one(`"ports":{"80/tcp":{}},"expose":["80"]`)},
		"dependencies": {two(`,"depends_on":{}`, ""), two("", "")},
	} {
		for _, text := range same {
			if hash(t, text) != hash(t, same[0]) {
				t.Errorf("%s: %s and %s differ", name, text, same[0])
			}
		}
	}
}

func TestDocumentsThatMeanDifferentThingsHaveDifferentHashes(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		`{"image":"nginx"}`, `{"image":"nginx:1"}`, `{"services":{"web":{"image":"nginx"}}}`, two("", ""),
		two(`,"depends_on":{"b":{"condition":"service_started"}}`, ""), two("", `,"depends_on":{"a":{"condition":"service_started"}}`),
		one(`"command":["a","b"]`), one(`"command":["a b"]`), one(`"args":["a","b"]`), one(`"args":["b","a"]`),
		one(`"env":{"A":""}`), one(`"labels":{"A":""}`), one(`"tmpfs":["/a"]`), one(`"user":"a"`), one(`"init":true`), one(`"stop_grace_period":"11s"`),
		one(`"ports":{"80/tcp":{}}`), one(`"ports":{"80/udp":{}}`), one(`"ports":{"80/tcp":{"ingress":true}}`), one(`"expose":["80"]`),
		one(`"health_check":{"test":["CMD","a"]}`), one(`"health_check":{"test":["CMD-SHELL","a"]}`), one(`"health_check":{"test":["CMD","a"],"retries":1}`),
		one(`"health_check":{"test":["CMD","a"],"interval":1}`), one(`"health_check":{"test":["CMD","a"],"timeout":1}`), one(`"health_check":{"test":["CMD","a"],"start_period":1}`),
	} {
		h := hash(t, text)
		if other, taken := seen[h]; taken {
			t.Errorf("%s and %s have one hash", text, other)
		}
		seen[h] = text
	}
}

func TestTheHashOfADocumentStaysOverVersions(t *testing.T) {
	const want = "50fc2b690e438aa60fd7601d94032293a22a57fecb52cd3a18af570040db38b5"
	if got := hash(t, one(`"ports":{"80/tcp":{"ingress":true}},"env":{"A":"1"}`)); got != want {
		t.Errorf("got %s; a new form needs a new version in front of it, and rolls every lease", got)
	}
}

func TestEveryGoodDocumentIsReadTheSameFromItsCanonicalForm(t *testing.T) {
	for _, d := range documents() {
		if d.at == "" {
			sameAgain(t, d.text)
		}
	}
}

// sameAgain reads a good document from its canonical form.
func sameAgain(t testing.TB, text string) {
	t.Helper()
	stack := parse(t, text)
	document, err := stack.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again := parse(t, string(document))
	second, err := again.Canonical()
	if err != nil || string(second) != string(document) {
		t.Errorf("%s becomes %s (%v)", document, second, err)
	}
	if !reflect.DeepEqual(bare(t, text), bare(t, string(document))) {
		t.Errorf("%s is another one than %s", document, text)
	}
}

// bare is the services of a document, empty lists and maps made nil.
func bare(t testing.TB, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, s := range parse(t, text).Services {
		v := reflect.ValueOf(s).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); (f.Kind() == reflect.Map || f.Kind() == reflect.Slice) && f.Len() == 0 {
				f.SetZero()
			}
		}
		out[name] = *s
	}
	return out
}
