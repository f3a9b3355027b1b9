// Package isolation tries, from inside containers of leases on a real engine, everything
// that a lease may reach and must not: as it was provisioned, after the engine was
// restarted, after everybody's rules were flushed, and while no backend runs.
//
// The test starts itself again in a network namespace of its own, with an engine of its
// own there, so that nothing of the machine's is touched. It needs root, dockerd and
// iproute2, and says so where it skips.
package isolation
