// Command e2ebackend holds leases of a real backend on the real Docker engine, and
// kills the backend all the time.
//
// It starts `berthd backend` with a data directory, a network pool and a name that
// nobody else has, and is the holder of its leases: it provisions them in three
// shapes (one service; one with two containers; a stack of two of which one depends
// on the other), restarts them, updates them to another image and to one that does
// not start, and gives them up. After each change it waits for the callback and asks
// the programs in the containers over the ports that the backend says, and by their names
// through a data plane: they must be of the version that the lease has, after an update that failed that of before.
// Each lease is given a custom domain, and another one, which must lead to it with the
// containers that it had. Where a shape has a disk, what a container wrote into its volume
// is read back after each change, out of the same volume; once the lease is given up it
// is retained, and of one shape restored to another lease, once, where it is read again. `berthd` alone gets SIGKILL meanwhile, and is started again.
//
// A request whose answer was cut off is sent again only where the backend's own
// records show that it was not taken, so that one operation is one callback.
//
// `make e2e-backend` runs it; the package's test is the short form. It ends with the
// line
//
//	backend: <leases> leases, <operations> operations, <kills> kills, <lost> lost, <leaked> leaked
//
// and with 1 unless nothing was lost or leaked and as many leases and kills were made
// as asked for. Lost is an operation that was accepted and whose callback did not come,
// came twice or said something else, and one that did not have its effect. Leaked is
// what is left on the engine, in the store, on the backend's lists or of its firewall, once
// every lease was given up and nothing is retained any longer.
//
// What must never happen in it: a signal to anything but its own berthd, an end that
// leaves containers, networks, images or processes behind, a failure that is not told.
package main
