// Package yamlfiletest holds the reference page of a kind of file to the tables of
// keys by which it is read. Tests of internal/spec and internal/workfile call it.
//
// What must never happen here: knowledge of one kind of file.
package yamlfiletest
