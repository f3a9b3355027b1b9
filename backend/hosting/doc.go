// Package hosting is the backend that provisions: it hosts leases on any
// provider.Provider.
//
// A lease is a row. Each of its services is one workload of the provider, with as
// many replicas as the item's quantity, and the workloads of a lease share a
// network. A call of the [Hosting] checks the request, changes the row and returns;
// [Hosting.Step] makes what is true follow it: it observes, plans with a function
// that knows nothing but the row and the world, and carries out, once. Whoever owns
// the Hosting calls Step for every lease, at its start, when [Hosting.Watch] tells
// of one, and when the Step before said.
//
// # The life of a lease
//
//	          Provision, Restore
//	                  |            Restart, Update, Provision again
//	                  v           +-----------------------------------+
//	           provisioning ------|---> failed <------ failing        |
//	                  |           |        ^              ^           |
//	                  v           |        | lost         | a workload failed,
//	  +----------> ready ---------+--------|--------------+ and a second look agrees
//	  |               |                    |
//	  | done, or      | Restart, Update    |
//	  | went back     v                    |
//	  +---- restarting, updating ----------+
//
//	any of them -- Deprovision --> deprovisioning --> gone, or retained
//
// Every transition into ready and failed has one callback, which is written into
// the row with the status and goes from there to the outbox. A change that failed
// and went back to what served ends ready with a failed callback. Deprovision
// preempts: it takes the row whatever is under way, whose result then comes too
// late to be written, so that no callback of it follows. Until somebody takes its
// callbacks the row stays, and holds no room.
//
// A failure has words for the tenant, which are this package's own, and those of the
// provider, which are for who operates the backend: [Inspection] has them, and the log.
// A provider has a little less time than an operation, so that its verdict comes first;
// what it says at the end of an operation is told in either way.
//
// A failure, its reason and the count of failures stay with a lease until an operation
// succeeds. What its containers said last, and why it failed, stays for a week, also
// when the lease is given up. Every operation has a time in which to end, also when the
// provider takes none of its calls, and going back has its own.
//
// # Whose volumes are
//
// A service whose tier has a disk has a volume for each replica and each directory that
// its image declares. All volumes of a lease are one set, and its record, which no
// workload and no lease but this package knows, says whose they are:
//
//	Provision                          Deprovision, where nothing is retained
//	    v                                   |
//	  held --- Deprovision --> retained ----|--- too old, pushed out
//	    ^                       |     ^     v
//	    +------- Restore -------+     |   reaping --> gone, with the record
//	    |                             |
//	    +--- it failed, is given up --+
//	    |    before it was ready, or
//	    |    no lease came of it
//	    v
//	  held by the new lease alone, once that was ready
//
// Each arrow is one write of that record, so that there is one owner at any moment,
// whatever crashes. The bytes are never moved. A lease's row names its set before there
// is a record, the record names each volume before there is one, and it is looked up
// before each call that mounts any. Only a lease's own Steps take its volumes from it,
// when its workloads are gone; only of a set that is reaping is everything removed, and
// the record stays until it is gone. Volumes that a provision made which failed are
// removed with it; those of before stay, and those that an update added.
//
// A directory that is in memory by the manifest, or in every container, has no volume,
// and without a disk all are in memory: there is no volume without an owner.
//
// The [Reaper] is one more key for Step: it gives up what was retained for long enough,
// removes what a lease could not, and gives back what a request left in the middle.
//
// # Who writes
//
// Requests and the Step write a row in turns, and a Step only when the row is the one
// that it planned from. Whoever has the turn waits for the store and for nothing else.
// Of a write that failed nobody knows whether it was made: the row is in doubt then,
// and is read again before anybody goes by it.
//
// # Names
//
// With an [Ingress] every instance that has a TCP port is called by the rule of package
// fqdn, and a service may have a custom domain, which leads to all of its instances.
// [Hosting.Routes] depends on nothing but the rows: a Step notes in them which instances
// take requests, and a [Router] takes all routes together to the data plane.
//
// A custom domain that is asked for is a wish in the row. The Step asks the gate for it
// until it resolves, the next routes have it in the place of the one before, and once
// the data plane has taken them it is the lease's. Where somebody else has it the one
// before stays, and the wish is kept as the reason. Of two leases the first has a
// domain; what is taken away is gone at once. No change of names touches an instance.
//
// A lease that is given up leaves the routes first. What they led to goes once the data
// plane has nothing under way to it, or when it has been waited for long enough.
//
// # A crash
//
// The row says what is to be, and each effect may be repeated. A Step after a
// restart plans from what it finds. Nothing is destroyed for something that is not
// there, and nothing forgotten for it either: an unreadable store, an error or a
// timeout of the provider ends a Step and changes nothing, a row that cannot be read
// keeps the hosting from opening, of a lease or of its volumes, and a workload is given up when the provider has
// said that it removed it and then does not find it.
//
// What must never happen here: a wait in a call but for the measuring of volumes, which
// has seconds; two writers of one lease; a volume with no owner or two; a
// callback for what a Deprovision overtook, an engine's text in a message for a
// tenant.
package hosting
