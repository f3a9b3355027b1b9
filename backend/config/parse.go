package config

import (
	"fmt"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// maxBackends bounds those of a file, as many questions are put to all at once.
const maxBackends = 1000

// decoder reads one file.
type decoder struct {
	yamlfile.Decoder
	dir     string
	exposed string // how others can use the file itself; "" when they cannot
}

type (
	value        = yamlfile.Value
	field[T any] = yamlfile.Field[*decoder, T]
)

// draft is a backend while it is read.
type draft struct {
	Backend
	path       string
	secretText *string // as it stands in the file; nil when it cannot be used
	secretFile string
	unsigned   bool
	said       *tlsDraft // under tls
}

// at is the path of one of its keys.
func (b *draft) at(key string) string { return yamlfile.Join(b.path, key) }

func parse(source []byte, opts Options, exposed string) (*Config, error) {
	if opts.File == "" {
		opts.File = "backends.yaml"
	}
	d := &decoder{dir: opts.Dir, exposed: exposed, Decoder: yamlfile.New(opts.File, yamlfile.Words{
		One: "list of backends", Least: "write backends, each with at least a name, a url and a secret_file", Missing: missing, Unknown: unknown,
	})}
	var drafts []*draft
	if root := d.Document(source); root != nil {
		if v, ok := d.Visit(root, ""); ok {
			yamlfile.Section(d, v, fileFields(), &drafts)
		}
	}
	d.rules(drafts)
	if d.Errs.Count() > 0 {
		d.hideSecrets()
		return nil, d.Errs.Sorted()
	}
	c := &Config{}
	for _, b := range drafts {
		c.Backends = append(c.Backends, b.Backend)
	}
	return c, nil
}

// rules look at more than one value, and at the files that are named.
func (d *decoder) rules(all []*draft) {
	d.unique(all, "name", func(b *draft) string { return b.Name }, "give each backend a name of its own, with all of its SKUs in one entry")
	d.unique(all, "url", func(b *draft) string { return b.URL }, "a lease would be found at both: leave one out")
	var first *draft
	for _, b := range all {
		if b.Default && first != nil {
			d.RefuseAt(b.at("default"), "there is another default", fmt.Sprintf("keep one; the other is on line %d", d.At[first.at("default")].Line))
		}
		if b.Default && first == nil {
			first = b
		}
		d.secretRules(b)
		d.tlsRules(b)
	}
}

// unique refuses a value that an earlier backend has.
func (d *decoder) unique(all []*draft, key string, of func(*draft) string, do string) {
	first := map[string]*draft{}
	for _, b := range all {
		text := of(b)
		if text == "" {
			continue
		}
		if other, there := first[text]; there {
			d.RefuseAt(b.at(key), fmt.Sprintf("the backend on line %d has the same %s", d.At[other.path].Line, key), do)
			continue
		}
		first[text] = b
	}
}

func missing(key string) string {
	switch key {
	case "backends":
		return "write at least one backend with a name, a url and a secret_file"
	case "name":
		return "name the backend, for example: name: docker-1"
	case "url":
		return "write where it is reached, for example: url: https://docker-1.internal:9001"
	}
	return "write it"
}

// others are names by which keys are known elsewhere.
var others = map[string]string{
	"endpoint": "url", "address": "url", "addr": "url", "base_url": "url", "host": "url",
	"hmac_secret": "secret_file", "callback_secret": "secret_file", "password": "secret_file", "token": "secret_file",
	"is_default": "default", "ca": "ca_file", "ca_cert": "ca_file", "cert": "cert_file", "key": "key_file",
	"breaker": "circuit_breaker", "request_timeout": "timeout",
}

func unknown(_, key string) (hint, notYet string) {
	if name, ok := others[key]; ok {
		return "the key is " + name, ""
	}
	return "", ""
}
