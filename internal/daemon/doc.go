// Package daemon is the one place where the control plane is wired: store,
// engine, reconcile engine, data plane link, API.
//
// cmd/berthd calls [Run]. What must never happen here: a rule of any floor;
// this package only connects them.
package daemon
