// Package shard puts the parts of a shard together: the authority, the manager, the
// address where machines register, and the hub that their agents connect to. The daemon
// calls it, and so do tests that want the real thing in one process.
//
// [Open] reads the configuration and makes what a cluster needs once: its authority and
// the key of its tokens. [Shard.Serve] takes registrations and agents until its context
// is done; it may be called by a process that leads alone. Meanwhile it closes what stands
// by certificates that were denied, reads what other servers changed of these and of the
// authority, and, where it leads, replaces an authority whose time has come.
//
// What must never happen here: a decision about a machine, which is the manager's or its
// group's.
package shard
