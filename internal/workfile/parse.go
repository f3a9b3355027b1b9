package workfile

import (
	"fmt"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
	"github.com/berth-cloud/berth/provider"
)

// Bounds of what comes with a file. What is beyond is refused.
const (
	// MaxSourceBytes bounds the file itself.
	MaxSourceBytes = yamlfile.MaxSourceBytes

	// MaxFiles bounds the config files that it names by `file`.
	MaxFiles = 64

	// MaxFilesBytes bounds their contents together. One of them may have
	// provider.MaxConfigFileSize bytes.
	MaxFilesBytes = 4 << 20
)

// Options is what a file is judged by beside itself.
type Options struct {
	// File is the name that messages give the file; "" means "workload.yaml".
	File string

	// Files are the contents of config files, by what the file says in `file`.
	Files map[string][]byte
}

// Workload is what a file says.
type Workload struct {
	// Provider is the name of a provider; "" is the default one.
	Provider string

	// Strategy is that of rollouts, as in provider.DeployRequest.
	Strategy string

	// Request is valid but for its InstanceID, TenantID and ReleaseID, which no
	// file says.
	Request provider.ProvisionRequest

	places places
}

// decoder reads one file.
type decoder struct {
	yamlfile.Decoder
	files map[string][]byte
}

type (
	value        = yamlfile.Value
	field[T any] = yamlfile.Field[*decoder, T]
)

// Parse reads one workload file. The error is a [*yamlfile.Errors].
func Parse(source []byte, opts Options) (*Workload, error) {
	if opts.File == "" {
		opts.File = "workload.yaml"
	}
	d := &decoder{files: opts.Files, Decoder: yamlfile.New(opts.File, yamlfile.Words{
		One: "workload", Least: "write at least name, and one service with an image", Missing: missing, Unknown: unknown,
	})}
	d.checkFiles()
	root := d.Document(source)
	if root == nil {
		return nil, d.Errs.Sorted()
	}
	v, ok := d.Visit(root, "")
	if !ok {
		return nil, d.Errs.Sorted()
	}
	var w draft
	yamlfile.Section(d, v, fileFields(), &w)
	d.rules(&w)
	if d.Errs.Count() > 0 {
		return nil, d.Errs.Sorted()
	}
	w.places = places{file: opts.File, at: d.At, services: w.paths()}
	return &w.Workload, nil
}

// checkFiles refuses more contents than a request may bring.
func (d *decoder) checkFiles() {
	total := 0
	for _, content := range d.files {
		total += len(content)
	}
	first := yamlfile.Position{Line: 1, Column: 1}
	if len(d.files) > MaxFiles {
		d.Fail(first, "", fmt.Sprintf("%d config files come with it", len(d.files)), fmt.Sprintf("the most is %d", MaxFiles))
	}
	if total > MaxFilesBytes {
		d.Fail(first, "", fmt.Sprintf("its config files come to %d bytes", total), fmt.Sprintf("the most is %d (4 MiB); put what is so large into a volume", MaxFilesBytes))
	}
}

// draft is a workload while it is read.
type draft struct {
	Workload
	services []*serviceDraft // in the order of the file
}

// paths are those of the services.
func (w *draft) paths() []string {
	out := make([]string, len(w.services))
	for i, s := range w.services {
		out[i] = s.path
	}
	return out
}

func missing(key string) string {
	switch key {
	case "name":
		return "name the workload, for example: name: shop"
	case "services":
		return "write at least one service with an image"
	}
	return "write it"
}
