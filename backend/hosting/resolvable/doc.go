// Package resolvable finds out whether a domain resolves, before a backend takes it
// for a lease.
//
// Package hosting asks a [Gate] for each domain that a tenant newly wants. Several
// resolvers are asked at once, and a majority of all has to know an address. Which one
// does not matter: a domain may lead to a proxy before the backend, or to an address
// that this machine does not know as its own.
//
// What must never happen here: a connection to what a domain resolves to, a resolver
// that is down taken for one that says no, a wait beyond the budget.
package resolvable
