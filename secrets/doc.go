// Package secrets keeps values that must not be seen: environment secrets,
// files, registry logins and TLS keys of tenants.
//
// A [Secret] is a value that cannot be printed by accident: whatever prints it,
// writes it as JSON or logs it gets "[redacted]", and only Reveal gives the
// bytes. A [Vault] keeps secrets by [Ref], that is tenant and key, and numbers
// their values. [Sealed] is the vault that encrypts: its rows are [Blobs], in a
// directory ([Dir]) or in a database, and are of no use without the master key,
// which is in a file beside. [Memory] is the vault for tests. A [Scrubber] is the
// second net, for output that others write.
//
// Drivers and controllers read a Vault at the moment a container is made; specs
// and records carry references and versions alone. The daemon's wiring opens a
// Sealed on the daemon's store.
//
// What must never happen here: a value in an error, a log, a file name or a row
// that is not sealed; a value given to a tenant that did not store it; a new key
// made in place of one that was lost.
package secrets
