// Package probe asks a container once, from outside, whether it serves.
//
// The application controller calls it for every candidate that is due. What
// must never happen here: a loop, a wait beyond the probe's timeout, a verdict
// about readiness.
package probe
