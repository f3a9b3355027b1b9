package spec

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// unknownKey refuses a key, and names and returns the one that was probably
// meant, "" for none.
func (d *decoder) unknownKey(key *yaml.Node, parent string, names []string) string {
	at, path := position{key.Line, key.Column}, join(parent, key.Value)
	word := plainKey(key.Value)
	where := sectionOf(parent) + "/" + word
	near := nearest(word, names)
	hint := hints[where]
	if section := sectionOf(parent); hint == "" && (section == "service" || section == "inits" || section == "sidecars") {
		hint = hints["container/"+word]
	}
	switch {
	case near != word && hint != "":
		d.fail(at, path, "this key is not known", hint)
		meant, _ := strings.CutPrefix(hint, "the key is ")
		meant, _, _ = strings.Cut(meant, ",")
		return meant
	case near != word && later[where] != "":
		d.fail(at, path, "this is not available yet", later[where])
		return ""
	case near != "":
		d.fail(at, path, "this key is not known", "did you mean "+near+"?")
	default:
		d.fail(at, path, "this key is not known", "the keys here are "+strings.Join(slices.Sorted(slices.Values(names)), ", "))
	}
	return near
}

// keyedSections are the maps in a service whose keys are names: what is below a
// name is of the map's kind.
var keyedSections = []string{"inits", "sidecars", "env", "depends_on"}

// sectionOf names the kind of map that a path leads to.
func sectionOf(path string) string {
	parts := strings.Split(path, ".")
	last := parts[len(parts)-1]
	list, _, inList := strings.Cut(last, "[")
	switch {
	case path == "":
		return "file"
	case inList:
		return list
	case len(parts) == 2:
		return "service"
	case len(parts) > 3 && slices.Contains(keyedSections, parts[len(parts)-2]):
		return parts[len(parts)-2]
	}
	return last
}

// plainKey folds dependsOn, depends-on and DEPENDS_ON into depends_on.
func plainKey(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '-' || r == ' ':
			b.WriteByte('_')
		case r >= 'A' && r <= 'Z':
			if i > 0 && s[i-1] >= 'a' && s[i-1] <= 'z' {
				b.WriteByte('_')
			}
			b.WriteRune(r + 'a' - 'A')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// nearest is the name that a word is a slip of, or "".
func nearest(word string, names []string) string {
	if len(word) > 64 {
		return ""
	}
	word = plainKey(word)
	best, bestCost := "", 3
	for _, name := range names {
		cost := distance(word, name)
		if cost < bestCost && cost*3 <= max(len(word), len(name)) {
			best, bestCost = name, cost
		}
	}
	return best
}

// distance counts the letters to insert, remove, replace or swap with their
// neighbour to come from a to b.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
