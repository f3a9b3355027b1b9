package spec

import "github.com/berth-cloud/berth/internal/spec/yamlfile"

// ErrInvalid is what every error of [Parse] is, for errors.Is.
var ErrInvalid = yamlfile.ErrInvalid

type (
	// Problem is one thing wrong in a file.
	Problem = yamlfile.Problem
	// Errors is everything that is wrong in a file, in the order of the file.
	Errors = yamlfile.Errors
)
