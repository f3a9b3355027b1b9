package spec

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// hints are keys of other tools' files by the section they are met in: the
// message says what is written here instead.
var hints = map[string]string{
	"file/project":  "the key is name",
	"file/app":      "the key is name",
	"file/volumes":  "write volumes in the service that mounts them",
	"file/networks": "leave it out: each app has a network of its own",

	"service/environment":    "the key is env",
	"service/ports":          "write port for the one the service listens on, publish to open one on the host",
	"service/expose":         "write port for the one the service listens on",
	"service/host_port":      "write publish, a list of {port: …, host_port: …}",
	"service/host":           "the key is domains, a list",
	"service/hosts":          "the key is domains, a list",
	"service/hostname":       "the key is domains, a list",
	"service/scale":          "the key is replicas",
	"service/instances":      "the key is replicas",
	"service/cmd":            "the key is command, a list",
	"service/args":           "the key is command, a list",
	"service/memory":         "write it in resources",
	"service/cpu":            "write it in resources",
	"service/mounts":         "the key is volumes",
	"service/healthcheck":    "write health with readiness in it",
	"service/readiness":      "write it in health",
	"service/ready_timeout":  "write it in health",
	"service/restart":        "leave it out: a service that ends is started again",
	"service/container_name": "leave it out: Berth names containers",
	"service/networks":       "leave it out: each app has a network of its own",
	"service/deploy":         "write replicas, strategy and resources in the service",

	"readiness/ready_timeout": "write it in health",
	"resources/limits":        "write memory and cpu here; they are limits",
	"resources/requests":      "write memory and cpu here; they are limits",
	"volumes/source":          "write name for a volume that Berth keeps, host_path for a folder of the host",
	"volumes/target":          "the key is path",
	"publish/published":       "the key is host_port",
	"publish/target":          "the key is port",
}

// later are keys for what Berth does not do yet, and what to do until then.
var later = map[string]string{
	"file/databases":      "run the database as a service with a volume",
	"file/secrets":        "write the value in env",
	"service/build":       "build the image and name it in image",
	"service/entrypoint":  "the image's entrypoint runs; command replaces its arguments",
	"service/user":        "the image's user runs the program",
	"service/depends_on":  "services start at once; let the program retry",
	"service/hooks":       "run the step before apply",
	"service/egress":      "services may reach everything the host can",
	"service/secrets":     "write the value in env",
	"service/env_file":    "write the values in env",
	"service/rollout":     "the strategies are blue-green and recreate",
	"service/sidecars":    "run it as a service of its own",
	"service/init":        "do it in the program",
	"health/liveness":     "a service that ends is started again",
	"health/startup":      "ready_timeout bounds the start",
	"resources/swap":      "there is no swap beyond the memory limit",
	"readiness/exec":      "write an HTTP path, or leave readiness out for a TCP check",
	"publish/protocol":    "TCP ports alone are published",
	"publish/bind":        "write public: true to open it to everyone",
	"volumes/size":        "a volume is as large as the disk",
	"service/autoscaling": "write replicas",
}

// unknownKey refuses a key, and names and returns the one that was probably
// meant, "" for none.
func (d *decoder) unknownKey(key *yaml.Node, parent string, names []string) string {
	at, path := position{key.Line, key.Column}, join(parent, key.Value)
	word := plainKey(key.Value)
	where := sectionOf(parent) + "/" + word
	near := nearest(word, names)
	switch {
	case near != word && hints[where] != "":
		d.fail(at, path, "this key is not known", hints[where])
		meant, _ := strings.CutPrefix(hints[where], "the key is ")
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

// sectionOf names the kind of map that a path leads to.
func sectionOf(path string) string {
	last := path[strings.LastIndexByte(path, '.')+1:]
	list, _, inList := strings.Cut(last, "[")
	switch {
	case path == "":
		return "file"
	case inList:
		return list
	case strings.Count(path, ".") == 1:
		return "service"
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
