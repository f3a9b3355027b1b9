// Package placement decides which nodes an app runs on. It is pure: the daemon gathers
// what is known, keeps what is decided, and asks again when an app changes, a node is
// lost or one is to be emptied.
//
// An app is placed whole, on one node, since its services find each other by names that
// resolve on that node alone; only an app of one service can ask for its replicas to be
// spread. What has volumes stays where they are.
//
// What must never happen here: a replica with a volume that is placed anywhere else than
// its volume; a decision that depends on the order in which nodes are listed.
package placement
