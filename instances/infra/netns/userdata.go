package netns

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

const (
	cloudConfig  = "#cloud-config"
	maxUserFiles = 256
	maxUnpacked  = 8 << 20 // bytes of all files
	defaultMode  = 0o644
)

// userFile is one file of a machine's user data.
type userFile struct {
	// path is in the machine's folder.
	path    string
	content []byte
	mode    fs.FileMode
}

// parseUserData reads what user data asks for. No error repeats any of it: they
// say the line, as the author has the text.
func parseUserData(data []byte) ([]userFile, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	if line, _, _ := bytes.Cut(data, []byte("\n")); strings.TrimRight(string(line), " \t\r") != cloudConfig {
		return nil, errors.New("it does not begin with a line " + cloudConfig)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, errors.New("it is no YAML" + lineOf(err))
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, at(top, "it is no mapping")
	}
	var files []userFile
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		switch key.Value {
		case "runcmd": // the agent is started without it
		case "write_files":
			found, err := parseFiles(value)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		default:
			return nil, at(key, "only write_files and runcmd are understood")
		}
	}
	return files, checkPaths(files)
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// lineOf takes nothing but the line from an error that may quote the text.
func lineOf(err error) string {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		return " at line " + m[1]
	}
	return ""
}

func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", n.Line, fmt.Errorf(format, args...))
}

func parseFiles(list *yaml.Node) ([]userFile, error) {
	if list.Kind != yaml.SequenceNode || len(list.Content) > maxUserFiles {
		return nil, at(list, "write_files is no list of at most %d files", maxUserFiles)
	}
	var files []userFile
	room := maxUnpacked
	for _, n := range list.Content {
		f, err := parseFile(n, room)
		if err != nil {
			return nil, err
		}
		room -= len(f.content)
		files = append(files, f)
	}
	return files, nil
}

func parseFile(n *yaml.Node, room int) (f userFile, err error) {
	if n.Kind != yaml.MappingNode {
		return f, at(n, "a file is no mapping")
	}
	f.mode = defaultMode
	encoding, content := "", &yaml.Node{Kind: yaml.ScalarNode, Line: n.Line}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if value.Kind != yaml.ScalarNode {
			return f, at(value, "a file's values are texts")
		}
		switch key.Value {
		case "path":
			f.path, err = inFolder(value)
		case "content":
			content = value
		case "encoding":
			encoding = value.Value
		case "permissions":
			f.mode, err = parseMode(value)
		case "owner":
			if value.Value != "root" && value.Value != "root:root" {
				err = at(value, "the owner can only be root")
			}
		default:
			err = at(key, "a file has path, content, encoding, permissions and owner, and nothing else")
		}
		if err != nil {
			return f, err
		}
	}
	if f.path == "" {
		return f, at(n, "a file has no path")
	}
	f.content, err = decode(content, encoding, room)
	return f, err
}

// inFolder is where in the machine's folder a path of the machine is.
func inFolder(n *yaml.Node) (string, error) {
	for root, dir := range map[string]string{machine.BerthRoot: machine.BerthDir, machine.EtcRoot: machine.EtcDir} {
		if below, ok := strings.CutPrefix(n.Value, root+"/"); ok && path.Clean(n.Value) == n.Value && !strings.ContainsRune(below, 0) {
			return dir + "/" + below, nil
		}
	}
	return "", at(n, "the path is not one below %s or %s in its shortest form; a machine of %s takes no other files", machine.BerthRoot, machine.EtcRoot, Kind)
}

func parseMode(n *yaml.Node) (fs.FileMode, error) {
	mode, err := strconv.ParseUint(strings.TrimPrefix(n.Value, "0o"), 8, 32)
	if err != nil || mode > 0o777 {
		return 0, at(n, "the permissions are no octal number up to 0777")
	}
	return fs.FileMode(mode), nil
}

func decode(n *yaml.Node, encoding string, room int) ([]byte, error) {
	raw := []byte(n.Value)
	if n.Tag == "!!binary" && encoding == "" {
		encoding = "b64"
	}
	zipped := false
	switch encoding {
	case "", "text/plain", "plain":
	case "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
		zipped = true
		fallthrough
	case "b64", "base64":
		packed := strings.Join(strings.Fields(n.Value), "")
		var err error
		if raw, err = base64.StdEncoding.DecodeString(packed); err != nil {
			return nil, at(n, "the content is no base64")
		}
	default:
		return nil, at(n, "the encoding is not known; it can be plain, b64 or gz+b64")
	}
	if zipped {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err == nil {
			raw, err = io.ReadAll(io.LimitReader(z, int64(room)+1))
		}
		if err != nil {
			return nil, at(n, "the content is no gzip")
		}
	}
	if len(raw) > room {
		return nil, at(n, "the files have more than %d bytes", maxUnpacked)
	}
	return raw, nil
}

// checkPaths refuses a file that would be a folder of another.
func checkPaths(files []userFile) error {
	is := map[string]bool{}
	for _, f := range files {
		is[f.path] = true
	}
	for _, f := range files {
		for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
			if is[dir] {
				return errors.New("one of its files is a folder of another")
			}
		}
	}
	return nil
}
