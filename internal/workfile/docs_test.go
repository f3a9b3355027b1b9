package workfile

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/spec/yamlfile/yamlfiletest"
	"github.com/berth-cloud/berth/provider"
)

const referenceFile = "../../docs/reference/workload-yaml.md"

// sections are the headings of the reference with the keys that the decoder
// knows there.
func sections() map[string][]yamlfiletest.Key {
	return map[string][]yamlfiletest.Key{
		"Keys of the file":      yamlfiletest.Keys(fileFields()),
		"Keys of rollout":       yamlfiletest.Keys(rolloutFields()),
		"Keys of a service":     yamlfiletest.Keys(serviceFields()),
		"Keys of resources":     yamlfiletest.Keys(resourceFields()),
		"Keys of a port":        yamlfiletest.Keys(portFields()),
		"Keys of tls":           yamlfiletest.Keys(tlsFields()),
		"Keys of a volume":      yamlfiletest.Keys(volumeFields()),
		"Keys of a tmpfs":       yamlfiletest.Keys(tmpfsFields()),
		"Keys of a check":       yamlfiletest.Keys(checkFields()),
		"Keys of grpc":          yamlfiletest.Keys(grpcFields()),
		"Keys of a secret":      yamlfiletest.Keys(secretFields()),
		"Keys of a config file": yamlfiletest.Keys(configFields()),
		"Keys of security":      yamlfiletest.Keys(securityFields()),
	}
}

func ticked(t time.Duration) string { return "`" + spec.FormatDuration(t) + "`" }

// facts are defaults and bounds that the row of a key must name.
var facts = map[string][]string{
	"Keys of the file/name":           {strconv.Itoa(provider.MaxServiceNameLength), strconv.Itoa(provider.MaxStatefulNameLength)},
	"Keys of the file/labels":         {"`" + provider.ReservedLabelPrefix + "`"},
	"Keys of the file/services":       {strconv.Itoa(provider.MaxServices)},
	"Keys of rollout/max_surge":       {"`" + string(provider.DefaultMaxSurge) + "`"},
	"Keys of rollout/max_unavailable": {"`" + string(provider.DefaultMaxUnavailable) + "`"},
	"Keys of rollout/ready_timeout":   {ticked(provider.DefaultReadinessTimeout), ticked(maxTime)},
	"Keys of a service/env":           {strconv.Itoa(provider.MaxEntries)},
	"Keys of a service/replicas":      {"`1`", strconv.Itoa(provider.MaxReplicas)},
	"Keys of a service/stop_grace":    {ticked(provider.DefaultStopGrace), ticked(maxTime)},
	"Keys of a secret/path":           {"`" + provider.SecretsDir + "`"},
	"Keys of a config file/content":   {strconv.Itoa(provider.MaxConfigFileSize>>10) + " KiB"},
	"Keys of a config file/file":      {strconv.Itoa(MaxFiles), strconv.Itoa(MaxFilesBytes>>20) + " MiB"},
}

func TestEveryKeyIsInTheReferenceAndNoOther(t *testing.T) {
	yamlfiletest.CheckReference(t, referenceFile, sections(), facts)
}

func TestEverySectionOfTheDecoderIsKnownToTheReference(t *testing.T) {
	if tables := yamlfiletest.Tables(t); tables != len(sections()) {
		t.Errorf("the decoder has %d tables of keys, this test knows %d", tables, len(sections()))
	}
}

func TestTheWorkloadFilesInTheDocumentationAreValid(t *testing.T) {
	found := 0
	for _, page := range []string{referenceFile, "../../docs/guides/workloads.md"} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, example := range regexp.MustCompile("(?s)```yml\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
			found++
			if _, err := Parse([]byte(example[1]), Options{Files: map[string][]byte{"settings.json": []byte("{}")}}); err != nil {
				t.Errorf("%s: %v\nin\n%s", page, err, example[1])
			}
		}
	}
	if found < 2 {
		t.Errorf("%d examples were found", found)
	}
}

func TestTheMessagesInTheReferenceAreReal(t *testing.T) {
	raw, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse([]byte(broken), Options{File: "shop.yaml"})
	if err == nil || !strings.Contains(string(raw), "```text\n"+err.Error()+"\n```") {
		t.Errorf("%s does not show these messages:\n%v", referenceFile, err)
	}
}

const broken = `name: shop
services:
  web:
    replicas: 2
    resources:
      memory: 64
    redis: true
`
