package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

const (
	// maxConfigFile bounds a config file that is read, just above what the server
	// takes, so that the server says what is too large.
	maxConfigFile = 512<<10 + 1
	// maxConfigFiles bounds how many are read, likewise.
	maxConfigFiles = 65
)

// configFileNames are the files that a workload file names as contents of config
// files. It understands no more than that: whether the file is right, the server
// says.
func configFileNames(source string) []string {
	var doc yaml.Node
	if err := parseYAML(source, &doc); err != nil || len(doc.Content) == 0 {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	for _, service := range values(lookUp(doc.Content[0], "services")) {
		for _, file := range values(lookUp(service, "config_files")) {
			name := lookUp(file, "file")
			if name == nil || name.Kind != yaml.ScalarNode || name.Value == "" || seen[name.Value] || len(names) == maxConfigFiles {
				continue
			}
			seen[name.Value] = true
			names = append(names, name.Value)
		}
	}
	return names
}

// parseYAML is the parser's, which panics on input it has no answer for.
func parseYAML(source string, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	return yaml.Unmarshal([]byte(source), into)
}

// followed is what an alias stands for.
func followed(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// lookUp is the value of a key in a map; nil when there is none.
func lookUp(n *yaml.Node, key string) *yaml.Node {
	n = followed(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return followed(n.Content[i+1])
		}
	}
	return nil
}

// values are the elements of a list, or the values of a map.
func values(n *yaml.Node) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	case n.Kind == yaml.MappingNode:
		var out []*yaml.Node
		for i := 1; i < len(n.Content); i += 2 {
			out = append(out, n.Content[i])
		}
		return out
	}
	return nil
}

// readConfigFiles reads files relative to a folder.
func readConfigFiles(folder string, names []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, name := range names {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, name)
		}
		content, err := readAtMost(path, maxConfigFile)
		if err != nil {
			return nil, usage(fmt.Sprintf("cannot read the config file %s: %v", name, err), "Its name is taken from the folder of the workload file.")
		}
		out[name] = content
	}
	return out, nil
}

// readAtMost reads the beginning of a regular file. To open a pipe that nobody
// writes to would wait for ever, and a device has no end.
func readAtMost(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}
