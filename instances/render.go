package instances

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"text/template"

	"github.com/berth-cloud/berth/instances/infra"
)

// errTooLong ends a template that writes more than it may.
var errTooLong = errors.New("what it writes is too long")

// bounded takes up to left bytes.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errTooLong
	}
	b.left -= len(p)
	return b.Buffer.Write(p)
}

var _ io.Writer = (*bounded)(nil)

// render runs a template of package text/template. A variable, image or secret that is
// not there is an error, by a dot and by index alike. The error repeats no value.
func render(what, text string, data any) (string, error) {
	t, err := template.New(what).Option("missingkey=error").Funcs(template.FuncMap{"index": index}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrTemplate, err)
	}
	out := &bounded{left: infra.MaxUserData}
	if err := t.Execute(out, data); err != nil {
		if errors.Is(err, errTooLong) {
			return "", fmt.Errorf("%w: %s is longer than %d bytes", ErrTemplate, what, infra.MaxUserData)
		}
		return "", fmt.Errorf("%w: %w", ErrTemplate, err)
	}
	return out.String(), nil
}

// index is that of text/template, but for names that are not there: user data without
// its image would boot something else.
func index(item reflect.Value, keys ...reflect.Value) (reflect.Value, error) {
	for _, key := range keys {
		for item.Kind() == reflect.Interface || item.Kind() == reflect.Pointer {
			item = item.Elem()
		}
		for key.Kind() == reflect.Interface {
			key = key.Elem()
		}
		switch item.Kind() {
		case reflect.Map:
			if key.Kind() != reflect.String {
				return reflect.Value{}, errors.New("index: a name is a text")
			}
			found := item.MapIndex(key.Convert(item.Type().Key()))
			if !found.IsValid() {
				return reflect.Value{}, fmt.Errorf("index: %w: there is no %q", ErrMissing, clip(key.String()))
			}
			item = found
		case reflect.Slice, reflect.Array, reflect.String:
			if !key.CanInt() || key.Int() < 0 || key.Int() >= int64(item.Len()) {
				return reflect.Value{}, errors.New("index: out of range")
			}
			item = item.Index(int(key.Int()))
		default:
			return reflect.Value{}, fmt.Errorf("index: nothing is in a %s", item.Kind())
		}
	}
	return item, nil
}

// argsData is what arguments may use: they are kept and shown in clear, so neither the
// token nor a secret is among it.
type argsData struct {
	Cluster  ClusterData
	Server   ServerData
	Provider ProviderData
	Instance InstanceData
	Vars     map[string]string
	Image    map[string]string
}

// maxArgDepth bounds how deep arguments are nested.
const maxArgDepth = 32

// renderArgs runs the texts in arguments, at every depth; all else is as it was.
func renderArgs(value any, data argsData, depth int) (any, error) {
	if depth > maxArgDepth {
		return nil, fmt.Errorf("%w: arguments are nested deeper than %d", ErrInvalidRequest, maxArgDepth)
	}
	switch v := value.(type) {
	case string:
		return render("args", v, data)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			one, err := renderArgs(inner, data, depth+1)
			if err != nil {
				return nil, err
			}
			out[key] = one
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			one, err := renderArgs(inner, data, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = one
		}
		return out, nil
	}
	return value, nil
}
