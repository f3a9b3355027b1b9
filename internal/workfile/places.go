package workfile

import (
	"strings"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// Place is where a value is written.
type Place struct {
	File string
	// Line and Column are from 1; they are those of the nearest value around it
	// where the value itself is not written. Zero for a Workload that no file was
	// read for.
	Line, Column int
	// Path is in the words of the file: "services.web.resources.disk".
	Path string
}

// places is what Workload.Place looks into.
type places struct {
	file     string
	at       map[string]yamlfile.Position
	services []string // their paths, in the order of Request
}

// Place is where the value is written that Request has at a path such as
// "services[1].resources.disk_mb". A strategy is at "strategy". Of a nil Workload
// the path alone is known.
func (w *Workload) Place(path string) Place {
	if w == nil {
		return Place{Path: written(nil, path)}
	}
	out := Place{File: w.places.file, Path: written(w.places.services, path)}
	if path == "strategy" {
		out.Path = "rollout.strategy"
	}
	for p := out.Path; ; {
		if at, ok := w.places.at[p]; ok {
			out.Line, out.Column = at.Line, at.Column
			return out
		}
		cut := strings.LastIndexAny(p, ".[")
		if cut < 0 {
			return out
		}
		p = p[:cut]
	}
}

// keys are the words of a file for those of the contract, by the end of a path.
var keys = map[string]string{
	"health_check": "readiness", "mount_path": "path", "size_mb": "size", "memory_mb": "memory", "cpu_millis": "cpu",
	"disk_mb": "disk", "container": "port", "host": "host_port", "env_key": "env",
}

// written is the path in the file of a value that the contract has at a path.
func written(services []string, path string) string {
	var out []string
	for i, part := range strings.Split(path, ".") {
		name, index, _ := strings.Cut(part, "[")
		switch {
		case i == 0 && name == "services" && index != "":
			if s := serviceAt(services, index); s != "" {
				out = append(out, s)
				continue
			}
		case i > 0 && keys[name] != "":
			part = keys[name] + strings.TrimPrefix(part, name)
		}
		out = append(out, part)
	}
	return strings.ReplaceAll(strings.Join(out, "."), ".resources.replicas", ".replicas")
}

// serviceAt finds the path of the service of an index such as "3]", "" for none.
func serviceAt(services []string, index string) string {
	n := 0
	for _, c := range strings.TrimSuffix(index, "]") {
		if c < '0' || c > '9' || n > len(services) {
			return ""
		}
		n = 10*n + int(c-'0')
	}
	if n >= len(services) {
		return ""
	}
	return services[n]
}
