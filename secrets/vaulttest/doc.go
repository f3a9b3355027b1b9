// Package vaulttest is the conformance suite of package secrets: RunVault for
// what implements secrets.Vault, RunBlobs for what keeps the rows of
// secrets.Sealed, and Blobs, rows in memory that fail and lie on demand.
//
// Tests of implementations call it. What must never happen here: a rule that
// the documentation of the interface does not state.
package vaulttest
