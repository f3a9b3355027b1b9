package spec

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// memberDraft is one container of a group while it is read: the main one, which
// a service describes by its own keys, an init or a sidecar.
type memberDraft struct {
	Member
	path string
}

// written reports whether a key of the container is in the file, well or not:
// what was refused already is not missed a second time.
func (m *memberDraft) written(d *decoder, key string) bool {
	_, ok := d.At[yamlfile.Join(m.path, key)]
	return ok
}

// lift makes keys of a thing keys of what holds it.
func lift[T, U any](of func(*T) *U, fields ...field[U]) []field[T] {
	lifted := make([]field[T], len(fields))
	for i, f := range fields {
		lifted[i] = field[T]{Name: f.Name, Required: f.Required, Read: func(d *decoder, v value, into *T) { f.Read(d, v, of(into)) }}
	}
	return lifted
}

// programFields are the keys that say what a container runs.
func programFields[T any](of func(*T) *memberDraft) []field[T] {
	return lift(of,
		field[memberDraft]{Name: "image", Required: true, Read: readImage},
		wordsField("entrypoint", `["/bin/server"]`, func(m *memberDraft) *[]string { return &m.Entrypoint }),
		wordsField("command", `["serve", "--port", "8080"]`, func(m *memberDraft) *[]string { return &m.Command }),
		field[memberDraft]{Name: "env", Read: readEnv},
	)
}

// portField is the key for the port a container listens on.
func portField[T any](of func(*T) *memberDraft) []field[T] {
	return lift(of, field[memberDraft]{Name: "port", Read: func(d *decoder, v value, m *memberDraft) {
		if n, ok := d.Integer(v, 1, maxPort); ok {
			m.Port = n
		}
	}})
}

// storageFields are the keys for what a container is given.
func storageFields[T any](of func(*T) *memberDraft) []field[T] {
	return lift(of,
		field[memberDraft]{Name: "resources", Read: func(d *decoder, v value, m *memberDraft) {
			yamlfile.Section(d, v, resourceFields(), &m.Resources)
		}},
		field[memberDraft]{Name: "volumes", Read: readVolumes},
		field[memberDraft]{Name: "tmpfs", Read: readTmpfs},
	)
}

// publishField is the key for ports opened on the host.
func publishField[T any](of func(*T) *memberDraft) []field[T] {
	return lift(of, field[memberDraft]{Name: "publish", Read: readPublish})
}

func readImage(d *decoder, v value, m *memberDraft) {
	image, ok := d.Str(v)
	if !ok {
		return
	}
	if _, err := ParseImage(image); err != nil {
		d.RefuseErr(v, err)
		return
	}
	m.Image = image
}

// wordsField is a key whose value is a list of words for the kernel.
func wordsField[T any](name, example string, of func(*T) *[]string) field[T] {
	return field[T]{Name: name, Read: func(d *decoder, v value, into *T) { *of(into) = d.words(v, name, example) }}
}

// words reads a program's arguments; name is what they are together.
func (d *decoder) words(v value, name, example string) []string {
	if v.Kind == yaml.ScalarNode {
		d.Refuse(v, "the "+name+" is one text, and no shell splits it", "write a list: "+asList(v.Value, example))
		return nil
	}
	if len(v.Content) > maxCommandItems {
		d.Refuse(v, fmt.Sprintf("the %s has %d words", name, len(v.Content)), fmt.Sprintf("the most is %d", maxCommandItems))
		return nil
	}
	var words []string
	d.Items(v, example, func(i int, item value) {
		word, ok := d.Text(item)
		switch {
		case !ok:
		case len(word) > maxArgBytes:
			d.Refuse(item, fmt.Sprintf("the word has %d bytes", len(word)), fmt.Sprintf("the most is %d", maxArgBytes))
		default:
			words = append(words, word)
		}
	})
	if v.Kind == yaml.SequenceNode && len(v.Content) == 0 {
		d.Refuse(v, "the "+name+" is empty", emptyWordsAdvice(name))
	}
	return words
}

func emptyWordsAdvice(name string) string {
	if name == "command" || name == "entrypoint" {
		return "leave it out to run the image's own " + name
	}
	return "write at least one word, or leave it out"
}

// names reads a list of names of things in the file. Rules look each of them up
// later, and find where it is written at its [namePath].
func (d *decoder) names(v value, most int, example string) []string {
	if len(v.Content) > most && v.Kind == yaml.SequenceNode {
		d.Refuse(v, fmt.Sprintf("there are %d names", len(v.Content)), fmt.Sprintf("the most is %d", most))
		return nil
	}
	var names []string
	d.Items(v, example, func(_ int, item value) {
		name, ok := d.Text(item)
		switch {
		case !ok:
		case slices.Contains(names, name):
			d.Refuse(item, yamlfile.Quote(name)+" is listed twice", "remove one")
		default:
			names = append(names, name)
			d.At[namePath(v.Path, name)] = item.Position()
		}
	})
	return names
}

// namePath is a path at which no key can be: it leads to a name in a list by the
// name itself.
func namePath(list, name string) string { return list + "[" + yamlfile.Quote(name) }

// refuseName reports a problem of a name in a list, or of a key with that name.
func (d *decoder) refuseName(list, name, what, do string) {
	d.Fail(d.At[namePath(list, name)], list, what, do)
}
