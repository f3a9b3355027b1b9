package spec

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// known are keys of other tools' files, and of what Berth does not do yet: the
// message says what is written here instead.
var known = map[string]string{
	"environment":    "the key is env",
	"envs":           "the key is env",
	"ports":          "write port for the one the service listens on, publish to open one on the host",
	"expose":         "write port for the one the service listens on",
	"host":           "the key is domains, a list",
	"hosts":          "the key is domains, a list",
	"hostname":       "the key is domains, a list",
	"scale":          "the key is replicas",
	"instances":      "the key is replicas",
	"cmd":            "the key is command, a list",
	"args":           "the key is command, a list",
	"memory":         "write it in resources",
	"cpu":            "write it in resources",
	"limits":         "write memory and cpu in resources",
	"requests":       "write memory and cpu in resources; they are limits",
	"mounts":         "the key is volumes, in the service",
	"healthcheck":    "write health with readiness in it",
	"readiness":      "write it in health",
	"ready_timeout":  "write it in health",
	"restart":        "leave it out: a service that ends is started again",
	"container_name": "leave it out: Berth names containers",
	"networks":       "leave it out: each app has a network of its own",
	"project":        "the key is name",
	"source":         "write name for a named volume, host_path for a folder of the host",
	"target":         "the key is path",
	"published":      "the key is host_port",
}

// later are keys for what Berth is going to do.
var later = map[string]string{
	"build":      "build the image and name it in image",
	"entrypoint": "the image's entrypoint runs; command replaces its arguments",
	"user":       "the image's user runs the program",
	"databases":  "run the database as a service with a volume",
	"depends_on": "services start at once; let the program retry",
	"hooks":      "run the step before apply",
	"egress":     "services may reach everything the host can",
	"liveness":   "a service that ends is started again",
	"startup":    "health.ready_timeout bounds the start",
	"secrets":    "write the value in env",
	"env_file":   "write the values in env",
	"rollout":    "the strategies are blue-green and recreate",
	"sidecars":   "run it as a service of its own",
	"init":       "do it in the program",
}

// unknownKey refuses a key, and names and returns the one that was probably
// meant, "" for none.
func (d *decoder) unknownKey(key *yaml.Node, parent string, names []string) string {
	at, path := position{key.Line, key.Column}, join(parent, key.Value)
	near := nearest(key.Value, names)
	switch {
	case near != "":
		d.fail(at, path, "this key is not known", "did you mean "+near+"?")
	case known[plainKey(key.Value)] != "":
		d.fail(at, path, "this key is not known", known[plainKey(key.Value)])
	case later[plainKey(key.Value)] != "":
		d.fail(at, path, "this is not available yet", later[plainKey(key.Value)])
	default:
		d.fail(at, path, "this key is not known", "the keys here are "+strings.Join(slices.Sorted(slices.Values(names)), ", "))
	}
	return near
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
