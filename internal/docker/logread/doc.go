// Package logread reads the logs of many containers as one: what is there
// already in the order of time, then, for who follows, every new line as it comes,
// also of containers that did not exist before, and from what was kept of those
// that are gone.
//
// The logs of an app and those of a workload are read by it; each says with a
// [Query] which containers it means and where their lines come from.
//
// What must never happen here: a line held back until a container ends, a buffer
// that grows with the log, a follower that misses the container a deploy started.
package logread
