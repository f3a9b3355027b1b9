// Package memory is a provider.Provider whose orchestrator is this process: a
// [Cluster] of containers that are goroutines, with volumes, networks, names,
// health checks, logs and memory limits, and with faults on demand.
//
// Tests of whatever stands on a provider call it, and so does a program that
// wants to try one. A [Provider] keeps the rules of package provider and passes
// the suite in providertest, in each of its modes:
//
//   - [Sync]: calls return when the instance is as it was asked for, or failed.
//   - [Stepped]: calls return after their first pass, and Step does the rest.
//
// A Cluster outlives its Providers as an orchestrator outlives the process that
// drives it: a second Provider on the same Cluster and StateStore is that
// process, restarted.
//
// Every image exists and runs a program that listens on the ports of its service,
// unless [Cluster.AddImage] says otherwise.
//
// What must never happen here: a socket, a file or a process of the machine; a
// goroutine that Cluster.Close does not end.
package memory
