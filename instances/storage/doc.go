// Package storage is where the records of machines live: small objects under
// keys, in a bucket, a directory or memory.
//
// [Storage] is the interface, with the one operation that everything else stands
// on: PutIfMatch, which writes only over what the writer has read. [S3] keeps
// objects in a bucket of any store that honours If-Match and If-None-Match,
// [Directory] in files, [Memory] in the process. [Scoped] shows a part of another
// Storage. The suite in instances/storage/storagetest holds them all to the same
// rules.
//
// Package instances, the leader's lock and instances/secrets use it. What must
// never happen here: an absence that the store did not state (a store that fails,
// answers strangely or is not there is [ErrUnavailable]), a list with a part
// missing, a conditional write with two winners, half an object, a failure
// recognised by its text.
package storage
