// Package hostdir keeps the machines of a provider that makes them on this host: a
// folder for each, Dir/<cluster>.<shard>/<instance id>, with a record in it. It has the
// rules by which they are created, deleted, looked at and listed, and nothing of what a
// machine is made of. The providers netns and qemu call it, and nobody else does.
//
// The folder is locked for every call that changes anything, over all processes, and
// the folder itself is what is locked, so that nothing of it is left. A record is
// written before the first effect and removed after the last; all between is a
// [Step], which can be made again. So a call that was cut anywhere is gone on with by
// the next one, from the record alone.
//
// A kind of provider says in a [Maker] how it reads and writes its records, makes a
// machine, looks at it and takes it away. Its record has a [Record] in it, and what else
// it needs beside.
//
// What must never happen here: a machine that is touched by a record that does not bear
// the owner's marks, an answer "not found" while the folder of the machines is away or
// a record cannot be read, or an effect on a machine whose folder is not locked.
package hostdir
