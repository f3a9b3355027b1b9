// Package infra is the contract between the machines floor and whatever makes
// machines: a cloud, a hypervisor, namespaces on this host.
//
// A [Provider] is opened for one [Owner], a shard of a cluster, by a [Registry]
// that knows the kinds there are. Package instances calls it, with requests that
// it froze in a record before the first call; infra/fake is the provider of tests.
//
// The rules, each with the cases of infratest that hold every provider to it:
//
//   - One machine for one instance id, ever: not by calls at the same time, not by a
//     process that started later, not while the first one goes.
//     Create/AtOnce, Create/RepeatedByAnother, Create/WhileGoing
//   - A repeated create with the same bytes answers with the same machine; with
//     other bytes it is ErrConflict and changes nothing.
//     Create/Answers, Create/Repeated, Create/OtherBytes
//   - What can never work is ErrInvalidRequest, before any effect; an argument or a
//     subnet that is not known is never passed over.
//     Create/Invalid, Create/UnknownArg, Create/UnknownSubnet, Subnet/HasRoom
//   - A look-up by the instance's id sees every machine at once, also one whose create
//     never returned. A provider's id is a hint: the machine's mark decides, as the
//     id may be another's by now.
//     Status/AtOnce, Status/AfterRestart, Status/StaleProviderID, Delete/StaleProviderID
//   - Not found is the provider's word about an instance, and nothing else is.
//     Status/Unknown, Context/Ended
//   - A delete can be repeated, and succeeds where nothing is. It promises nothing: gone
//     is what a look-up says, when the provider does.
//     Delete/UntilGone, Delete/Repeated, Delete/Unknown, Delete/AtOnce, Delete/AfterRestart
//   - A list is complete or an error, over pages that shift; a machine is on some page if
//     it is there from the first to the last. It may lag, so absence is no proof.
//     List/Shows, List/Pages, List/ShiftingPages, List/Refuses, List/AfterRestart
//   - The marks of cluster, shard and instance are on everything that is made. What does
//     not carry all three for this owner is not listed, found or removed.
//     Owner/Tags, Owner/OtherShard, Owner/CreateForAnother, Owner/Foreign, Owner/ForeignOfOurID
//   - User data is in no error, answer, tag, log or file for people.
//     Secret/UserData
//   - What an answer holds is the caller's own.
//     Status/OwnCopy
//
// A create whose answer was lost is made again with the same bytes, or looked up
// by the instance's id; [PerhapsCreated] says when that is needed. A provider keeps
// [CreateInstanceRequest.Digest] with the machine, in the tag TagRequest where it
// has tags, and so tells a repeated create from another without a memory of its own.
//
// What must never happen here: a second machine for an instance, a machine of
// somebody else touched, an empty list taken for an empty world, or user data
// where somebody can read it.
package infra
