// Package machine is what runs inside a machine of infra/netns, and what starts it.
//
// [Main] is the hidden command of the program that the provider is configured with.
// `launch` enters the machine's network namespace, starts the machine's first process
// in namespaces of its own, records who that is, lets it go on, and ends: nobody is
// the machine's parent but the host's first process, so a machine outlives whoever
// made it. `init` is that first process. It gives the machine its own view of the
// file system, starts the engine and then the agent, starts again what ends, reaps
// what is left behind, says how it is in a file, and on SIGTERM ends all in order.
//
// A machine is started once in its life. Its process holds the lock of its folder
// while it lives, and is known by pid, start time and boot, never by a pid alone.
//
// The provider writes the [Spec] and reads the [State]; nobody else uses this package.
//
// What must never happen here: a mount that the host sees, an effect before the process
// is recorded, a second start, or a file written outside the machine's own folder.
package machine
