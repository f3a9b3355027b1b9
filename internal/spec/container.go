package spec

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
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
	_, ok := d.at[join(m.path, key)]
	return ok
}

// lift makes keys of a thing keys of what holds it.
func lift[T, U any](of func(*T) *U, fields ...field[U]) []field[T] {
	lifted := make([]field[T], len(fields))
	for i, f := range fields {
		lifted[i] = field[T]{name: f.name, required: f.required, read: func(d *decoder, v value, into *T) { f.read(d, v, of(into)) }}
	}
	return lifted
}

// programFields are the keys that say what a container runs.
func programFields[T any](of func(*T) *memberDraft) []field[T] {
	return lift(of,
		field[memberDraft]{name: "image", required: true, read: readImage},
		wordsField("entrypoint", `["/bin/server"]`, func(m *memberDraft) *[]string { return &m.Entrypoint }),
		wordsField("command", `["serve", "--port", "8080"]`, func(m *memberDraft) *[]string { return &m.Command }),
		field[memberDraft]{name: "env", read: readEnv},
	)
}

// portField is the key for the port a container listens on.
func portField[T any](of func(*T) *memberDraft) []field[T] {
	return lift(of, field[memberDraft]{name: "port", read: func(d *decoder, v value, m *memberDraft) {
		if n, ok := d.integer(v, 1, maxPort); ok {
			m.Port = n
		}
	}})
}

// storageFields are the keys for what a container is given.
func storageFields[T any](of func(*T) *memberDraft) []field[T] {
	return lift(of,
		field[memberDraft]{name: "resources", read: func(d *decoder, v value, m *memberDraft) {
			section(d, v, resourceFields(), &m.Resources)
		}},
		field[memberDraft]{name: "volumes", read: readVolumes},
		field[memberDraft]{name: "tmpfs", read: readTmpfs},
	)
}

// publishField is the key for ports opened on the host.
func publishField[T any](of func(*T) *memberDraft) []field[T] {
	return lift(of, field[memberDraft]{name: "publish", read: readPublish})
}

func readImage(d *decoder, v value, m *memberDraft) {
	image, ok := d.str(v)
	if !ok {
		return
	}
	if _, err := ParseImage(image); err != nil {
		d.refuseErr(v, err)
		return
	}
	m.Image = image
}

// wordsField is a key whose value is a list of words for the kernel.
func wordsField[T any](name, example string, of func(*T) *[]string) field[T] {
	return field[T]{name: name, read: func(d *decoder, v value, into *T) { *of(into) = d.words(v, name, example) }}
}

// words reads a program's arguments; name is what they are together.
func (d *decoder) words(v value, name, example string) []string {
	if v.Kind == yaml.ScalarNode {
		d.refuse(v, "the "+name+" is one text, and no shell splits it", "write a list: "+asList(v.Value, example))
		return nil
	}
	if len(v.Content) > maxCommandItems {
		d.refuse(v, fmt.Sprintf("the %s has %d words", name, len(v.Content)), fmt.Sprintf("the most is %d", maxCommandItems))
		return nil
	}
	var words []string
	d.items(v, example, func(i int, item value) {
		word, ok := d.text(item)
		switch {
		case !ok:
		case len(word) > maxArgBytes:
			d.refuse(item, fmt.Sprintf("the word has %d bytes", len(word)), fmt.Sprintf("the most is %d", maxArgBytes))
		default:
			words = append(words, word)
		}
	})
	if v.Kind == yaml.SequenceNode && len(v.Content) == 0 {
		d.refuse(v, "the "+name+" is empty", emptyWordsAdvice(name))
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
		d.refuse(v, fmt.Sprintf("there are %d names", len(v.Content)), fmt.Sprintf("the most is %d", most))
		return nil
	}
	var names []string
	d.items(v, example, func(_ int, item value) {
		name, ok := d.text(item)
		switch {
		case !ok:
		case slices.Contains(names, name):
			d.refuse(item, quote(name)+" is listed twice", "remove one")
		default:
			names = append(names, name)
			d.at[namePath(v.path, name)] = item.position()
		}
	})
	return names
}

// namePath is a path at which no key can be: it leads to a name in a list by the
// name itself.
func namePath(list, name string) string { return list + "[" + quote(name) }

// refuseName reports a problem of a name in a list, or of a key with that name.
func (d *decoder) refuseName(list, name, what, do string) {
	d.fail(d.at[namePath(list, name)], list, what, do)
}
