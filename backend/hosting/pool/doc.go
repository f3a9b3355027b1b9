// Package pool counts what leases hold of a backend's CPU, memory and disk.
//
// Hosting asks it before it makes anything: [Pool.Reserve] for a new lease,
// [Pool.Resize] for one that changes, [Pool.Adopt] for one that takes over what is
// retained of another. The wiring shows [Pool.Stats]. A lease is held whole or not at
// all, by its UUID, so that every call may be repeated.
//
// # Disk that is retained
//
// Where the data of a lease outlives it, [Pool.Retain] gives back the CPU and the
// memory and goes on counting the disk, until [Pool.Forget]. A restore takes two
// steps, and both ways out of it always have room:
//
//	Adopt(new, old)   the larger of the two disks is counted, once
//	Forget(old)       the data is the new lease's: its own disk is counted
//	Release(new)      the restore failed: what was retained is counted, as before
//
// What is retained goes by a name: that of the lease, or one of its own, such as the
// record of the data has, where one lease may leave some more than once. By a name of its
// own, Retain leaves what the lease holds alone, and Release has to follow.
//
// A tenant's quota is for leases alone. Were retained disk in it, a tenant who closed
// his leases could not open another before the last of them is reaped.
//
// # After a restart
//
// [Pool.Rebuild] takes what a backend found. For leases of which the caller keeps a
// record in memory the pool is the authority: a list that was read before a lease was
// reserved must not give its room away. What is found is never refused for want of
// room, as it is there; a pool that holds more than it has takes nothing new.
//
// What must never happen here: a wait, a reading of the engine, an allocation by half,
// a sum that wraps around, a tenant's name in an error.
package pool
