// Package yamlfile reads a YAML file strictly: its keys are known, its values are
// of one kind, and everything that is wrong is reported at once, each with its line,
// its column and what to do.
//
// A package that knows a kind of file, such as internal/spec or internal/workfile,
// embeds a [Decoder] in its own, describes each map by a table of fields, and
// calls [Section].
//
// What must never happen here: a guess, a key that is dropped, the name of a kind
// of file, work that grows beyond the size of the file.
package yamlfile
