package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
	"github.com/berth-cloud/berth/secrets"
)

// Bounds of a secret, in bytes: what is shorter can be guessed.
const (
	minSecretBytes = 32
	maxSecretBytes = 4096
)

const secretFileAdvice = "put the secret into a file that only its owner can read, and write secret_file"

// secretText reads a secret that stands in the file. The value is in no message, nor is a
// tag, which is what a secret that begins with ! looks like.
func (d *decoder) secretText(v value) *string {
	switch {
	case v.Node.Tag == "!!str" && v.Style&yaml.TaggedStyle == 0:
		return &v.Value
	case v.Style&yaml.TaggedStyle != 0:
		d.Refuse(v, "the secret begins with a !, which means something in YAML", "put it in quotes")
	default:
		d.Refuse(v, "this is "+yamlfile.KindOf(v.Node)+", not a text", "put it in quotes if it is meant")
	}
	return nil
}

// secretRules settle where the secret of a backend comes from.
func (d *decoder) secretRules(b *draft) {
	said := func(key string) bool { _, ok := d.At[b.at(key)]; return ok }
	text, file := said("secret"), said("secret_file")
	switch {
	case text && file:
		d.RefuseAt(b.at("secret"), "there is a secret_file too", "keep one of both, best the file")
	case (text || file) && b.unsigned:
		d.RefuseAt(b.at("unsigned"), "there is a secret as well", "keep one of both, best the secret")
	case text:
		d.inlineSecret(b)
	case file && b.secretFile != "":
		d.fileSecret(b)
	case file, b.unsigned:
	default:
		d.RefuseAt(b.path, "there is no secret", secretFileAdvice+"; for development alone there is unsigned: true")
	}
}

func (d *decoder) inlineSecret(b *draft) {
	path := b.at("secret")
	if d.exposed != "" {
		d.RefuseAt(path, "there is a secret in this file, and "+exposedWords+": "+d.exposed, "or "+secretFileAdvice)
	}
	if b.secretText == nil {
		return
	}
	if err := checkSecret([]byte(*b.secretText)); err != nil {
		d.RefuseAt(path, err.Error(), secretFileAdvice)
		return
	}
	b.Secret = secrets.NewSecretString(*b.secretText)
}

// secretInKey is a secret that came to be part of a key, for want of a space or
// a colon.
var secretInKey = regexp.MustCompile(`(?i)(secret\w*["'\\ ]*[:= ]).+`)

// hideSecrets keeps what may be one out of the paths of problems.
func (d *decoder) hideSecrets() {
	for i := range d.Errs.Problems {
		p := &d.Errs.Problems[i]
		p.Path = secretInKey.ReplaceAllString(p.Path, "${1}…")
	}
}

func (d *decoder) fileSecret(b *draft) {
	path := b.at("secret_file")
	raw, exposed, err := readFile(d.inDir(b.secretFile), maxSecretBytes+2)
	defer clear(raw)
	if err != nil {
		advice := ""
		if errors.Is(err, fs.ErrNotExist) {
			advice = HowToMakeSecret(d.inDir(b.secretFile)) + ", or copy the one that the backend has"
		}
		d.RefuseAt(path, err.Error(), advice)
		return
	}
	if exposed != "" {
		d.RefuseAt(path, exposedWords+": "+exposed, "")
		return
	}
	// What editors and echo put at the end.
	text := bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
	if err := checkSecret(text); err != nil {
		d.RefuseAt(path, err.Error(), "write one line of it into the file")
		return
	}
	b.Secret = secrets.NewSecret(text)
}

// checkSecret says what is wrong with a secret, and nothing of what it is.
func checkSecret(text []byte) error {
	switch {
	case len(text) < minSecretBytes:
		return fmt.Errorf("the secret has %d bytes; the least is %d", len(text), minSecretBytes)
	case len(text) > maxSecretBytes:
		return fmt.Errorf("the secret has more than %d bytes", maxSecretBytes)
	case strings.ContainsAny(string(text), "\x00\r\n"):
		return fmt.Errorf("the secret has more than one line, or a NUL in it")
	case len(bytes.TrimSpace(text)) != len(text):
		return fmt.Errorf("the secret begins or ends with a space")
	}
	return nil
}
