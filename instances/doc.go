// Package instances makes machines and takes them away again: an intent in a record,
// a token in the user data, a machine at the provider, a certificate for the agent
// that shows the token, and the same backwards.
//
// A [Manager] does it for one shard. Records are the truth; package localdb is a cache
// of them that [Manager.RebuildCache] fills; what the provider says is a fact about
// machines and about nothing else. [Manager.Collect] finds what the two say
// differently. [JWTSigner] makes the tokens, and [JWTVerifier] reads them.
//
// # Objects
//
// Storage is that of the cluster; all objects of a shard are below shard/{shard}/:
//
//	instance/{tenant}.{storage key}.json   the record of a machine
//	claim/{hash of the token}.json         who the token belongs to, for ever
//	denied/{serial}.json                   a certificate that holds no more
//	joined/{name}.json                     who has the name of a host that joined
//
// # Order of effects
//
// Create: everything that can be refused is refused first; the record, which holds all
// that the provider will be told but for the token and secrets; the provider; what it
// answered, by condition. A create that is not done at its launch deadline is given up:
// looked up, removed, recorded.
//
// Register: the token, the record, the claim with its certificate by condition, the
// record. Whoever asks again with the same key gets the same certificate.
//
// Join, of a host that no provider made: the claim of its name; the record, which is that
// of a machine as it is after its create. From there on it registers, renews and goes as
// any other, but that no provider is asked about it and no group has it.
//
// Delete: the record says so; the certificates are denied; the provider removes it, and
// says that it is gone; the record says that, stays a while, and goes.
//
// Any process may die between any two of these. Whoever leads next calls RebuildCache,
// then Collect at an interval, and repeats creates by their ids.
//
// # Rules
//
// A write after a record's first is conditional, merges, bears the term of the leader
// that made it, and never takes a field back. A tenant sees its own machines alone:
// callers outside use [Manager.DeleteInstanceFor] and [Manager.GetInstanceStatusFor].
//
// What must never happen here: a token or a secret in a record, a log or an error; a
// machine without a record, or two of one; a machine removed because something could
// not be read, was missing once, or stood in no list.
package instances
