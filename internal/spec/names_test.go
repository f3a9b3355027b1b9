package spec

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
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

func TestHintsAreForKeysThatAreNone(t *testing.T) {
	sectionsByName := map[string][]string{
		"file": yamlfile.FieldNames(appFields()), "service": yamlfile.FieldNames(serviceFields()), "health": yamlfile.FieldNames(healthFields()),
		"readiness": yamlfile.FieldNames(readinessFields()), "resources": yamlfile.FieldNames(resourceFields()), "volumes": yamlfile.FieldNames(volumeFields()),
		"publish": yamlfile.FieldNames(publishFields()), "liveness": yamlfile.FieldNames(livenessFields()), "env": yamlfile.FieldNames(secretFields()),
		"depends_on": yamlfile.FieldNames(dependencyFields()), "inits": yamlfile.FieldNames(initFields()), "sidecars": yamlfile.FieldNames(sidecarFields()),
		"node": yamlfile.FieldNames(nodeFields()), "on_disconnect": yamlfile.FieldNames(disconnectFields()),
		"container": slices.Concat(yamlfile.FieldNames(serviceFields()), yamlfile.FieldNames(initFields()), yamlfile.FieldNames(sidecarFields())),
	}
	for _, table := range []map[string]string{hints, later} {
		for where := range table {
			section, key, _ := strings.Cut(where, "/")
			names, ok := sectionsByName[section]
			if !ok || slices.Contains(names, key) || yamlfile.PlainKey(key) != key {
				t.Errorf("the hint %s can never be given", where)
			}
		}
	}
}
