// Package keylock gives a lock to every key that somebody holds or waits for,
// and none to any other.
//
// The docker provider takes one for each workload and each network, so that
// changes of one happen one after the other and those of others beside them.
//
// What must never happen here: a wait that outlives its context, a key that
// stays once nobody wants it.
package keylock
