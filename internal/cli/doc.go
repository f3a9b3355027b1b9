// Package cli is the command line: it reads arguments and files, calls the API
// through internal/client and prints what came of it.
//
// cmd/berth is its only caller besides the tests, which run it in-process with
// an [Env] of their own. Everything it knows about the outside, such as whether
// the output is a terminal, is in the Env.
//
// What must never happen here: a decision that the server should make, an
// answer a script can only read by its wording (there is -o json and there are
// exit codes), a question where nobody can answer it, an import that links an
// engine or a database.
package cli
