// Package leaseholder is the smallest holder of leases: it asks a backend over the
// real client and keeps the callbacks that the backend sends.
//
// The end-to-end runs of backends call it. It keeps everything in memory and decides
// nothing: what a callback means is for the run to judge.
//
// What must never happen here: a callback that was acknowledged and is not kept, a
// reading of one that hides a second.
package leaseholder
