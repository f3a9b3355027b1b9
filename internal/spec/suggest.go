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

	"service/ports":           "write port for the one the service listens on, publish to open one on the host",
	"service/expose":          "write port for the one the service listens on",
	"service/host_port":       "write publish, a list of {port: …, host_port: …}",
	"service/host":            "the key is domains, a list",
	"service/hosts":           "the key is domains, a list",
	"service/hostname":        "the key is domains, a list",
	"service/scale":           "the key is replicas",
	"service/instances":       "the key is replicas",
	"service/healthcheck":     "write health with readiness or liveness in it",
	"service/readiness":       "write it in health",
	"service/liveness":        "write it in health",
	"service/ready_timeout":   "write it in health",
	"service/restart_policy":  "the key is restart",
	"service/networks":        "leave it out: each app has a network of its own",
	"service/secrets":         "write NAME: {secret: true} in env",
	"service/init_containers": "the key is inits",
	"service/wait":            "the key is depends_on",
	"service/deploy":          "write replicas, strategy and resources in the service",

	"container/environment":    "the key is env",
	"container/cmd":            "the key is command, a list",
	"container/args":           "the key is command, a list",
	"container/memory":         "write it in resources",
	"container/cpu":            "write it in resources",
	"container/mounts":         "the key is volumes",
	"container/container_name": "leave it out: Berth names containers",
	"container/workdir":        "the key is working_dir",
	"container/read_only":      "the key is read_only_root",
	"container/stop_timeout":   "the key is stop_grace, of the service",
	"container/security_opt":   "write hardened: true",
	"container/cap_add":        "leave it out: capabilities are not an app's to take",
	"container/privileged":     "leave it out: no container is privileged",
	"container/cap_drop":       "write hardened: true, which drops all",

	"inits/port":           "leave it out: an init runs to its end and serves nobody",
	"inits/publish":        "leave it out: an init runs to its end and serves nobody",
	"inits/health":         "leave it out: an init is judged by its exit code",
	"inits/healthcheck":    "leave it out: an init is judged by its exit code",
	"inits/restart":        "leave it out: an init that fails fails its replica",
	"sidecars/healthcheck": "write health with readiness or liveness in it",
	"sidecars/domains":     "leave it out: requests go to the main container",
	"sidecars/restart":     "leave it out: a sidecar runs as long as its replica",

	"env/key":            "the key is secret",
	"env/name":           "the key is secret",
	"env/optional":       "write required: false",
	"env/value":          "write the value itself in place of the map",
	"env/value_from":     "the key is secret",
	"depends_on/timeout": "write depends_timeout in the service",

	"readiness/ready_timeout": "write it in health",
	"liveness/ready_timeout":  "write it in health",
	"readiness/failures":      "leave it out: ready_timeout bounds the start",
	"readiness/command":       "the key is exec, a list",
	"liveness/command":        "the key is exec, a list",
	"readiness/cmd":           "the key is exec, a list",
	"liveness/cmd":            "the key is exec, a list",
	"readiness/retries":       "leave it out: ready_timeout bounds the start",
	"liveness/retries":        "the key is failures",
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
	"file/secrets":        "keep it in the vault, and write NAME: {secret: true} in env",
	"service/build":       "build the image and name it in image",
	"service/stateful":    "volumes belong to the whole service; write a service for each replica",
	"service/files":       "put the content into the image, or into a variable",
	"service/hooks":       "write the step as an init, or as a service with restart: no",
	"service/egress":      "services may reach everything the host can",
	"service/env_file":    "write the values in env",
	"service/rollout":     "write strategy: rolling with max_surge and max_unavailable",
	"health/startup":      "ready_timeout bounds the start",
	"resources/swap":      "there is no swap beyond the memory limit",
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
