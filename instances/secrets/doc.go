// Package secrets keeps the few secrets of a cluster of machines by name: the key
// of its certificate authority, the key that signs registration tokens.
//
// [Store] is the interface. [Objects] keeps them sealed in an object store beside
// the records, [Vault] in a vault of package github.com/berth-cloud/berth/secrets,
// [Memory] in the process. Values are that package's Secret, which does not print.
// The suite in instances/secrets/secretstest holds all three.
//
// Package instances uses it. What must never happen here: a value in an error, a
// log or an object that is not sealed; a failure or a wrong key that looks like a
// secret that is not there, since what is not there is made anew.
package secrets
