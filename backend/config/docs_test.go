package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/spec/yamlfile/yamlfiletest"
)

const referenceFile = "../../docs/reference/backends-yaml.md"

// sections are the headings of the reference with the keys that the decoder knows there.
func sections() map[string][]yamlfiletest.Key {
	return map[string][]yamlfiletest.Key{
		"Keys of the file":        yamlfiletest.Keys(fileFields()),
		"Keys of a backend":       yamlfiletest.Keys(backendFields()),
		"Keys of circuit_breaker": yamlfiletest.Keys(breakerFields()),
		"Keys of tls":             yamlfiletest.Keys(tlsFields()),
	}
}

// facts are defaults and bounds that the row of a key must name.
var facts = map[string][]string{
	"Keys of the file/backends":                 {strconv.Itoa(maxBackends)},
	"Keys of a backend/skus":                    {strconv.Itoa(maxSKUBytes)},
	"Keys of a backend/secret_file":             {strconv.Itoa(minSecretBytes), strconv.Itoa(maxSecretBytes)},
	"Keys of a backend/timeout":                 {"`30s`", "`100ms`", "`" + spec.FormatDuration(maxTimeout) + "`"},
	"Keys of a backend/max_idle_conns":          {strconv.Itoa(maxConns)},
	"Keys of a backend/max_idle_conns_per_host": {strconv.Itoa(maxConns)},
	"Keys of a backend/page_limit":              {strconv.Itoa(backend.DefaultProvisionsPageLimit), strconv.Itoa(backend.MaxPageLimit)},
	"Keys of circuit_breaker/timeout":           {"`" + spec.FormatDuration(maxInterval) + "`"},
	"Keys of circuit_breaker/interval":          {"`" + spec.FormatDuration(maxInterval) + "`"},
}

func TestEveryKeyIsInTheReferenceAndNoOther(t *testing.T) {
	yamlfiletest.CheckReference(t, referenceFile, sections(), facts)
	if tables := yamlfiletest.Tables(t); tables != len(sections()) {
		t.Errorf("the decoder has %d tables of keys, this test knows %d", tables, len(sections()))
	}
}

// The example is read but for the files that it names, which are nobody's.
func TestTheFileInTheReferenceIsValid(t *testing.T) {
	raw, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```\n(backends:.*?)```").FindSubmatch(raw)
	if example == nil {
		t.Fatal("there is no example")
	}
	dir := t.TempDir()
	for _, name := range []string{"docker-1.secret", "spare.secret"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("s", minSecretBytes)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Parse(example[1], Options{Dir: dir})
	if err == nil {
		t.Fatal("certificates are taken that are not there")
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.Contains(line, "no such file") {
			t.Error(line)
		}
	}
}

func TestTheMessagesInTheReferenceAreReal(t *testing.T) {
	raw, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse([]byte(broken), Options{})
	if err == nil || !strings.Contains(string(raw), "```text\n"+err.Error()+"\n```") {
		t.Errorf("%s does not show these messages:\n%v", referenceFile, err)
	}
}

const broken = `backends:
  - name: docker-1
    url: https://docker-1.internal:9001
    endpoint: /leases
    timeout: 30
`
