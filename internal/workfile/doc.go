// Package workfile is the workload file: the YAML in which a workload is written
// for `berth workload apply`.
//
// [Parse] turns a file into a request of package provider, or into
// [*yamlfile.Errors]: everything that is wrong at once, by its keys and kinds of
// values as by the rules of provider, each with its line and column. internal/api
// calls it for every file that is handed in.
//
// What must never happen here: a guess, a key that is dropped, a file that is
// read (contents come with the request), the content of a config file or the value
// of a variable in a message.
package workfile
