package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// Bounds of how a container runs.
const (
	maxTmpfs      = 20
	minTmpfsBytes = 64 << 10
	maxUserBytes  = 128
)

// processFields are the keys that say how a container runs.
func processFields[T any](of func(*T) *memberDraft) []field[T] {
	flag := func(name string, of func(*memberDraft) *bool) field[memberDraft] {
		return field[memberDraft]{Name: name, Read: func(d *decoder, v value, m *memberDraft) { *of(m), _ = d.Boolean(v) }}
	}
	return lift(of,
		field[memberDraft]{Name: "user", Read: readUser},
		field[memberDraft]{Name: "working_dir", Read: readWorkingDir},
		field[memberDraft]{Name: "stop_signal", Read: readStopSignal},
		flag("init", func(m *memberDraft) *bool { return &m.Init }),
		flag("read_only_root", func(m *memberDraft) *bool { return &m.ReadOnlyRoot }),
		flag("hardened", func(m *memberDraft) *bool { return &m.Hardened }),
	)
}

var userForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`)

func readUser(d *decoder, v value, m *memberDraft) {
	user, ok := d.Text(v)
	switch {
	case !ok:
	case len(user) > maxUserBytes:
		d.Refuse(v, fmt.Sprintf("the user has %d characters", len(user)), fmt.Sprintf("the most is %d", maxUserBytes))
	case !userForm.MatchString(user):
		d.Refuse(v, yamlfile.Quote(user)+" is not a user", "write a name or a number, with a group behind a colon if need be: 1000:1000")
	default:
		m.User = user
	}
}

func readWorkingDir(d *decoder, v value, m *memberDraft) {
	dir, ok := d.Str(v)
	if !ok {
		return
	}
	if err := checkAbsolute(dir); err != nil {
		d.RefuseErr(v, err)
		return
	}
	m.WorkingDir = dir
}

// stopSignals are those that ask a program to end, under the names that all
// systems know; real-time ones stand beside them.
var stopSignals = []string{"SIGABRT", "SIGALRM", "SIGHUP", "SIGINT", "SIGKILL", "SIGPWR", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGWINCH"}

var realTimeSignal = regexp.MustCompile(`^SIGRTMIN\+([1-9]|1[0-5])$`)

func readStopSignal(d *decoder, v value, m *memberDraft) {
	name, ok := d.Text(v)
	if !ok {
		return
	}
	if slices.Contains(stopSignals, name) || realTimeSignal.MatchString(name) {
		m.StopSignal = name
		return
	}
	do := "write one of " + strings.Join(stopSignals, ", ") + ", or SIGRTMIN+1 to SIGRTMIN+15"
	if plain := "SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG"); slices.Contains(stopSignals, plain) {
		do = "write " + plain
	}
	d.Refuse(v, yamlfile.Quote(name)+" is not a signal that ends programs", do)
}

// tmpfsFields are the keys of a directory in memory.
func tmpfsFields() []field[Tmpfs] {
	return []field[Tmpfs]{
		{Name: "path", Required: true, Read: readTmpfsPath},
		{Name: "size", Read: func(d *decoder, v value, t *Tmpfs) {
			text, ok := d.Text(v)
			if !ok {
				return
			}
			n, err := ParseBytes(text)
			switch {
			case err != nil:
				d.RefuseErr(v, err)
			case n < minTmpfsBytes:
				d.Refuse(v, yamlfile.QuoteBare(text)+" is too small", "the least is "+FormatBytes(minTmpfsBytes))
			default:
				t.SizeBytes = n
			}
		}},
	}
}

func readTmpfsPath(d *decoder, v value, t *Tmpfs) {
	path, ok := d.Str(v)
	if !ok {
		return
	}
	if err := checkMountPath(path); err != nil {
		d.RefuseErr(v, err)
		return
	}
	t.Path = path
}

// readTmpfs reads directories in memory, each a path or a map.
func readTmpfs(d *decoder, v value, m *memberDraft) {
	if len(v.Content) > maxTmpfs && v.Kind == yaml.SequenceNode {
		d.Refuse(v, fmt.Sprintf("there are %d directories", len(v.Content)), fmt.Sprintf("the most is %d", maxTmpfs))
		return
	}
	d.Items(v, "[/tmp, {path: /run, size: 16Mi}]", func(i int, item value) {
		var t Tmpfs
		before := d.Errs.Count()
		if item.Kind == yaml.ScalarNode {
			readTmpfsPath(d, item, &t)
		} else {
			yamlfile.Section(d, item, tmpfsFields(), &t)
		}
		switch {
		case d.Errs.Count() > before || t.Path == "":
			return
		case slices.ContainsFunc(m.Tmpfs, func(o Tmpfs) bool { return o.Path == t.Path }):
			d.Refuse(item, "two directories are mounted at "+t.Path, "give each a path of its own")
			return
		}
		m.Tmpfs = append(m.Tmpfs, t)
		d.At[tmpfsPath(m.path, t.Path)] = item.Position()
	})
	slices.SortFunc(m.Tmpfs, func(a, b Tmpfs) int { return strings.Compare(a.Path, b.Path) })
}

// tmpfsPath is a path at which no key can be: it leads to a directory in memory
// by where it is mounted.
func tmpfsPath(member, mount string) string { return member + ".tmpfs[" + mount }

// mountsOnce: a volume and a directory in memory do not cover each other.
func (d *decoder) mountsOnce(m *memberDraft) {
	for _, t := range m.Tmpfs {
		if slices.ContainsFunc(m.Volumes, func(v Volume) bool { return v.Path == t.Path }) {
			d.Fail(d.At[tmpfsPath(m.path, t.Path)], m.path+".tmpfs", "a volume is mounted at "+t.Path+" too",
				"give each a path of its own")
		}
	}
}
