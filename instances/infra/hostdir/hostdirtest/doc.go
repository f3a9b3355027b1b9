// Package hostdirtest holds the rules of package hostdir as tests: what a create or a
// delete that was cut before any of its effects leaves is gone on with, and a store that
// is away or cannot be read is no answer. A [Bench] is a place for a provider's machines
// and what the tests may do there.
//
// Tests of hostdir and of the providers on it call it.
//
// What must never happen here: knowledge of one kind of provider, or a cut that is made
// anywhere but before an effect.
package hostdirtest
