// Package shard puts the parts of a shard together: the authority, the manager, the
// address where machines register, the hub that their agents connect to, the election of
// who leads, and the controllers of groups. The daemon calls it, and so do tests that want
// the real thing in one process.
//
// [Open] reads the configuration and makes what a cluster needs once: its authority and
// the key of its tokens. [Shard.Serve] takes registrations and agents until its context is
// done. Meanwhile it closes what stands by certificates that were denied, reads what other
// servers changed of these, of the authority and of the configuration, and, while it
// leads, replaces an authority whose time has come and has a [turn]: an engine with the
// controllers of package group. A turn wakes a group when a machine of it registers, comes,
// goes or gives notice, and all of them when the configuration changes or events were
// missed.
//
// # What is asked
//
// [Shard.Create], [Shard.Delete] and [Shard.Rotate] wait for no machine. They keep what is
// asked as an object, ask/{storage key}.json beside the records, one for each machine;
// whoever leads does it, and removes the object. What will never be done says why in its
// object for a while. So an answer is a promise that outlives this process.
//
// What must never happen here: a decision about a machine, which is the manager's or its
// group's; a wait for a provider in a call that somebody outside makes.
package shard
