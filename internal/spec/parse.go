package spec

import "github.com/berth-cloud/berth/internal/spec/yamlfile"

// MaxSourceBytes bounds an app.yaml.
const MaxSourceBytes = yamlfile.MaxSourceBytes

// Options is what a file is judged by beside itself. The zero value allows
// nothing that an operator must allow.
type Options struct {
	// File is the name that messages give the file; "" means "app.yaml".
	File string
	// AllowHostPaths are the folders of the host below which services may
	// mount paths. None: no host path is allowed.
	AllowHostPaths []string
	// DenyHostPaths are refused whatever is allowed, beside those that
	// always are; the daemon names its data directory here.
	DenyHostPaths []string
}

// Parse reads one app.yaml. What it returns is complete, every default filled
// in, and valid by itself; whether it fits the machine (a name another app
// has, a port in use) is not known here. The error is an [*Errors].
func Parse(source []byte, opts Options) (*App, error) {
	if opts.File == "" {
		opts.File = "app.yaml"
	}
	d := &decoder{opts: opts, Decoder: yamlfile.New(opts.File, yamlfile.Words{
		One: "app", Least: "write at least name, and one service with an image", Missing: missingAdvice, Unknown: unknownKey,
	})}
	root := d.Document(source)
	if root == nil {
		return nil, d.Errs.Sorted()
	}
	app := d.app(root)
	if len(d.Errs.Problems) > 0 {
		return nil, d.Errs.Sorted()
	}
	return app, nil
}
