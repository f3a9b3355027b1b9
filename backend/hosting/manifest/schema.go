package manifest

import (
	_ "embed" // the schema
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema is the rules of documents as JSON Schema (draft 2020-12). Parse refuses what
// the schema refuses, and beyond that what a schema has no words for: members that are there twice,
// sizes in bytes, how long a duration in words is, what services say of
// each other, and more than one port for ingress. The caller owns the bytes.
func Schema() []byte { return slices.Clone(schema) }
