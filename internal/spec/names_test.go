package spec

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "web", "web-1", "a--b", "a1", strings.Repeat("a", MaxNameBytes)} {
		if err := CheckName(name); err != nil {
			t.Errorf("CheckName(%q) = %v, want none", name, err)
		}
	}
	for _, name := range []string{"", "-", "-a", "a-", "A", "1a", "a_b", "a.b", "a b", "ä", "a\n", "a/b", "..",
		strings.Repeat("a", MaxNameBytes+1)} {
		if err := CheckName(name); err == nil {
			t.Errorf("CheckName(%q) passes", name)
		}
	}
}

func TestTheFullNameIsAppDashServiceAndBounded(t *testing.T) {
	if got := FullName("shop", "web"); got != "shop-web" {
		t.Errorf("FullName = %q", got)
	}
	long := strings.Repeat("a", 46)
	if err := CheckFullName(long, "web"); err != nil { // 46 + 1 + 3 = 50
		t.Errorf("50 characters are refused: %v", err)
	}
	if err := CheckFullName(long, "webs"); err == nil {
		t.Error("51 characters pass")
	}
}

func TestASuggestedNameIsAName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		near, ok := strings.CutPrefix(nameSuggestion(text), ", for example ")
		if ok && len(near) <= MaxNameBytes && CheckName(near) != nil {
			t.Fatalf("for %q the name %q is suggested, which is none", text, near)
		}
	})
}

func TestTheNearestKeyIsNamedOnlyWhenItIsNear(t *testing.T) {
	keys := []string{"image", "command", "env", "port", "domains", "replicas", "strategy", "stop_grace", "keep_previous"}
	for word, want := range map[string]string{
		"imgae": "image", "img": "", "Image": "image", "stopGrace": "stop_grace", "stop-grace": "stop_grace",
		"keepPrevious": "keep_previous", "prot": "port", "ports": "port", "envs": "env", "replica": "replicas",
		"colour": "", "x": "", "": "", "domain": "domains", "STRATEGY": "strategy", strings.Repeat("port", 1000): "",
	} {
		if got := nearest(word, keys); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestHintsAreForKeysThatAreNone(t *testing.T) {
	sectionsByName := map[string][]string{
		"file": fieldNames(appFields()), "service": fieldNames(serviceFields()), "health": fieldNames(healthFields()),
		"readiness": fieldNames(readinessFields()), "resources": fieldNames(resourceFields()), "volumes": fieldNames(volumeFields()),
		"publish": fieldNames(publishFields()), "liveness": fieldNames(livenessFields()), "env": fieldNames(secretFields()),
		"depends_on": fieldNames(dependencyFields()), "inits": fieldNames(initFields()), "sidecars": fieldNames(sidecarFields()),
		"container": slices.Concat(fieldNames(serviceFields()), fieldNames(initFields()), fieldNames(sidecarFields())),
	}
	for _, table := range []map[string]string{hints, later} {
		for where := range table {
			section, key, _ := strings.Cut(where, "/")
			names, ok := sectionsByName[section]
			if !ok || slices.Contains(names, key) || plainKey(key) != key {
				t.Errorf("the hint %s can never be given", where)
			}
		}
	}
}

func TestDistanceCountsSlips(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"port", "prot", 1}, {"port", "part", 1}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
