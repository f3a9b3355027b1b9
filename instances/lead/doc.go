// Package lead lets one server of a shard act at a time.
//
// All servers of a shard run an [Elector] on one object of the shard's store. Whoever
// wrote it last, and not too long ago, leads. The daemon gives [Elector.Run] what a
// leader does; package instances asks [Elector.Term] before every effect.
//
// # Why there is never more than one
//
// Of two writers with the same tag one wins, so every term has one holder. A holder
// counts its lease from before the write that renewed it; the others count theirs from
// after the read that showed them a new tag, and wait longer by a margin. So the one
// has ended before another begins, whatever their clocks say: each measures a length
// of time with its own, and a time that stands in the object is for people. A holder
// that was stopped and goes on, or whose machine slept, finds its lease over by the
// first of its two clocks, the monotonic and the wall's.
//
// An object that is missing is made anew as nobody's, and then waited for like any other:
// it may have been deleted while somebody leads. Only who made the marker beside it, at
// the first start of a shard, leads at once.
//
// What was under way when a lease ended is caught by the term, which grows with every
// leader: whoever writes a record of a later term is refused.
//
// # Timing
//
// With interval I and timeout T, and r = T − I, a holder renews every I, and has ended
// T − r/2 − r/8 after its last renewal began. Others look every r/4 and take over T − r/2
// after they saw the last change: T − r/4 after it at the latest, with as much again for
// the store to answer before T is over. With 5 s and 15 s those are 8.75, 2.5, 10 and
// 12.5 seconds. A holder that ends in order lets go at once.
//
// # A store that lies
//
// An answer that was lost is found out by reading: every write has a mark of its own in
// it. A store that does not heed conditions is found out before the first election.
//
// What must never happen here: a decision by a time that another machine wrote; a
// takeover because the store could not be read.
package lead
