package secrets_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/secrets"
)

// canary is a value that no output may hold, in any of the ways that Go prints
// a string or bytes.
const canary = "hunter2-canary"

func leaks(out string) bool {
	out = strings.ToLower(out)
	for _, form := range []string{
		canary, fmt.Sprintf("%x", canary), fmt.Sprintf("% x", canary), fmt.Sprint([]byte(canary)),
		strings.Trim(fmt.Sprintf("%#v", []byte(canary)), "[]byte{}"), "ahvudgvymi1jyw5hcnk",
		strings.Trim(fmt.Sprintf("%b", []byte(canary)), "[]"), strings.Trim(fmt.Sprintf("%o", []byte(canary)), "[]"),
	} {
		if strings.Contains(out, strings.ToLower(form)) {
			return true
		}
	}
	return false
}

type open struct {
	Name  string
	Value secrets.Secret
	Ptr   *secrets.Secret
	List  []secrets.Secret
	Map   map[string]secrets.Secret
	Any   any
}

type closed struct {
	name  string
	value secrets.Secret
	ptr   *secrets.Secret
	list  []secrets.Secret
}

// renamed has the layout of a Secret and none of its methods.
type renamed secrets.Secret

func shapes() map[string]any {
	s := secrets.NewSecretString(canary)
	return map[string]any{
		"value": s, "pointer": &s, "slice": []secrets.Secret{s}, "map": map[string]secrets.Secret{"k": s},
		"struct":  open{"n", s, &s, []secrets.Secret{s}, map[string]secrets.Secret{"k": s}, s},
		"private": closed{"n", s, &s, []secrets.Secret{s}}, "pointer to private": &closed{"n", s, &s, nil},
		"renamed": renamed(s), "slice of private": []closed{{value: s}},
	}
}

func TestNoVerbPrintsASecret(t *testing.T) {
	verbs := []string{"%v", "%+v", "%#v", "%s", "%q", "%+q", "%#q", "%x", "%X", "% x", "%#x", "%d", "%b", "%o", "%O",
		"%c", "%U", "%t", "%e", "%g", "%p", "%w", "%z", "%T", "%-40v", "%.3s", "%*v", "%[2]v", "%!"}
	for name, v := range shapes() {
		for _, verb := range verbs {
			if out := fmt.Sprintf(verb, v); leaks(out) {
				t.Errorf("%s of a %s prints %q", verb, name, out)
			}
		}
		if out := fmt.Sprint(v) + fmt.Sprintln(v); leaks(out) {
			t.Errorf("Sprint of a %s prints %q", name, out)
		}
	}
}

func TestSecretIsRedactedInFmt(t *testing.T) {
	s := secrets.NewSecretString(canary)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, v := range []any{s, &s} {
			if out := fmt.Sprintf(verb, v); out != "[redacted]" {
				t.Errorf("%s of %T: %q", verb, v, out)
			}
		}
	}
	if s.String() != "[redacted]" || s.GoString() != "[redacted]" {
		t.Errorf("String %q, GoString %q", s.String(), s.GoString())
	}
	if out := fmt.Sprintf("%+v", open{Value: s}); !strings.Contains(out, "Value:[redacted]") {
		t.Errorf("in a struct: %q", out)
	}
}

func TestErrorsDoNotCarryASecret(t *testing.T) {
	s := secrets.NewSecretString(canary)
	misused := strings.Replace("login with %v", "v", "w", 1) // a secret is no error, as vet would say
	for _, err := range []error{
		fmt.Errorf("login with %v", s), fmt.Errorf(misused, s), fmt.Errorf("login with %s: %w", s, errors.ErrUnsupported),
		fmt.Errorf("two: %w, %w", fmt.Errorf("%+v", open{Value: s}), errors.Join(fmt.Errorf("%#v", closed{value: s}))),
	} {
		if leaks(err.Error()) || leaks(fmt.Sprintf("%+v %#v", err, err)) {
			t.Errorf("the error says %q", err)
		}
	}
}

func TestNoEncodingHoldsASecret(t *testing.T) {
	for name, v := range shapes() {
		j, jerr := json.MarshalIndent(v, "", " ")
		y, yerr := yaml.Marshal(v)
		if jerr != nil || yerr != nil {
			t.Errorf("%s: JSON %v, YAML %v", name, jerr, yerr)
		}
		x, _ := xml.Marshal(v)
		var g bytes.Buffer
		_ = gob.NewEncoder(&g).Encode(v)
		for _, out := range []string{string(j), string(y), string(x), g.String()} {
			if leaks(out) {
				t.Errorf("a %s is encoded as %q", name, out)
			}
		}
	}
	s := secrets.NewSecretString(canary)
	got, err := json.Marshal(map[string]any{"a": s, "b": &s, "c": []secrets.Secret{s}})
	if want := `{"a":"[redacted]","b":"[redacted]","c":["[redacted]"]}`; err != nil || string(got) != want {
		t.Errorf("JSON is %s, %v; want %s", got, err, want)
	}
	if text, err := s.MarshalText(); err != nil || string(text) != "[redacted]" {
		t.Errorf("text is %s, %v", text, err)
	}
}

func TestNoTemplateRendersASecret(t *testing.T) {
	var out strings.Builder
	page := template.Must(template.New("").Parse(`<p title="{{.Value}}">{{.Value}} {{.}}</p><script>x = {{.}}; y = {{.Value}}</script>`))
	if err := page.Execute(&out, open{Value: secrets.NewSecretString(canary)}); err != nil || leaks(out.String()) {
		t.Errorf("rendered %q, %v", out.String(), err)
	}
}

func TestNoLogHoldsASecret(t *testing.T) {
	var out strings.Builder
	for name, handler := range map[string]slog.Handler{
		"text": slog.NewTextHandler(&out, nil), "JSON": slog.NewJSONHandler(&out, nil),
	} {
		out.Reset()
		log := slog.New(handler)
		for shape, v := range shapes() {
			log.Info("a secret", slog.Any(shape, v), slog.Group("in", slog.Any(shape, v)), slog.String("text", fmt.Sprint(v)))
			log.With(shape, v).WithGroup("g").Error("with", "err", fmt.Errorf("%v", v))
		}
		if leaks(out.String()) || !strings.Contains(out.String(), "[redacted]") {
			t.Errorf("the %s log holds the value, or nothing in its place:\n%s", name, out.String())
		}
	}
}

func TestSecretIsNotReadFromAnEncoding(t *testing.T) {
	var s secrets.Secret
	for name, err := range map[string]error{
		"JSON string":  json.Unmarshal([]byte(`"value"`), &s),
		"JSON null":    json.Unmarshal([]byte(`null`), &s),
		"JSON in map":  json.Unmarshal([]byte(`{"k":"[redacted]"}`), &map[string]secrets.Secret{}),
		"JSON struct":  json.Unmarshal([]byte(`{"Value":"v"}`), &open{}),
		"text":         s.UnmarshalText([]byte("value")),
		"YAML":         yaml.Unmarshal([]byte("Value: v"), &struct{ Value *secrets.Secret }{}),
		"XML":          xml.Unmarshal([]byte("<open><Value>v</Value></open>"), &struct{ Value secrets.Secret }{}),
		"own encoding": roundTrip(secrets.NewSecretString(canary)),
	} {
		if name == "YAML" && err == nil {
			continue // yaml matches lower-case names only; checked below
		}
		if !errors.Is(err, secrets.ErrRedacted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := yaml.Unmarshal([]byte("value: v"), &struct{ Value secrets.Secret }{}); err == nil {
		t.Error("a secret was read from YAML")
	}
}

func roundTrip(s secrets.Secret) error {
	out, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, &s)
}

func TestRevealGivesTheBytesAsTheyWere(t *testing.T) {
	for _, value := range []string{"", "a", "$HOME #'\"\\ \n\x00\xff", strings.Repeat("x", secrets.MaxValueBytes)} {
		in := []byte(value)
		s := secrets.NewSecret(in)
		if len(in) > 0 {
			in[0]++
		}
		out := s.Reveal()
		if string(out) != value || s.RevealString() != value || s.Len() != len(value) || s.IsZero() != (value == "") {
			t.Errorf("%.20q came back as %.20q", value, out)
		}
		if len(out) > 0 {
			out[0]++
		}
		if s.RevealString() != value || secrets.NewSecretString(value).RevealString() != value {
			t.Errorf("%.20q changed through what Reveal returned", value)
		}
	}
	var zero secrets.Secret
	if !zero.IsZero() || zero.RevealString() != "" || fmt.Sprint(zero) != "[redacted]" || zero.Reveal() != nil {
		t.Error("the zero Secret is not the empty value")
	}
}

func TestSecretsAreEqualByValue(t *testing.T) {
	a, b, c := secrets.NewSecretString("a"), secrets.NewSecret([]byte("a")), secrets.NewSecretString("b")
	var zero secrets.Secret
	if !a.Equal(b) || a.Equal(c) || a.Equal(zero) || !zero.Equal(secrets.NewSecretString("")) {
		t.Error("Equal does not compare the values")
	}
}

func TestSecretTypesAreKnown(t *testing.T) {
	for _, typ := range []secrets.SecretType{"env", "file", "registry", "tls"} {
		if !typ.Valid() {
			t.Errorf("%q is not valid", typ)
		}
	}
	for _, typ := range []secrets.SecretType{"", "Env", "password"} {
		if typ.Valid() {
			t.Errorf("%q is valid", typ)
		}
	}
}
