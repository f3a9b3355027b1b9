// Package fqdn has the rules of the names by which leases are reached: the one that
// each instance has below the wildcard domain of its backend, and what the custom
// domain of a tenant may be.
//
// Package hosting calls it, and whoever reads the settings of a backend. It is pure:
// the same words give the same name, on any machine and after any restart.
//
// What must never happen here: a look at the network, a name that two spellings of one
// domain do not share, a name that is no host name.
package fqdn
