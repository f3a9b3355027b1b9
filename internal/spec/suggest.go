package spec

import (
	"slices"
	"strings"
)

// unknownKey says what to write in place of a key that is none, or that it is
// not available yet.
func unknownKey(parent, word string) (hint, notYet string) {
	section := sectionOf(parent)
	where := section + "/" + word
	hint = hints[where]
	if hint == "" && (section == "service" || section == "inits" || section == "sidecars") {
		hint = hints["container/"+word]
	}
	return hint, later[where]
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
