// Package infratest holds the contract of infra.Provider as tests. Every provider
// passes [Run], the fake among them.
//
// A [Fixture] is a provider and what the suite may do beside it: let time pass,
// open the machines once more, put somebody else's machine there, count what there
// really is. A call that ends with an error the contract permits (throttled, not
// reached, no capacity, lost answer) is made again with the same bytes, so that a
// provider, or a fake with faults, passes with them as without.
//
// Tests of the providers call it.
//
// What must never happen here: knowledge of one kind of provider, or a case that a
// provider which breaks its rule passes.
package infratest
