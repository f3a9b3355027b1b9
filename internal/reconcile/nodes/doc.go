// Package nodes keeps apps on nodes: it decides where an app runs, gives up what ran on a
// node that is lost, and empties one that is to go.
//
// The daemon asks [Nodes.Locate] before each pass of a service, and runs a controller for
// each node by [Nodes.Controller]. What is decided is a row for each app; nothing here
// touches a container: the application controller makes what is missing where the row
// says, and retires what is elsewhere.
//
// # When an app moves
//
//   - A change of an app of one service whose replicas are spread spreads them anew.
//   - What the app asks of its nodes changed, and the one that it has is not like that.
//   - Its node is gone: the provider or the record says so.
//   - Its node is offline for longer than the app's move_after, and it has no volumes.
//   - Its node is drained, and it has no volumes: its containers are replaced as by a
//     restart, so that no request is dropped.
//
// A node that was there a moment ago, or that a control plane which has only begun has not
// heard of yet, is expected back: nothing is given up on it, and nothing is spread without
// it, until that moment is over.
//
// What must never happen here: an app with volumes that is moved away from them; an app
// that is moved because a store or a node did not answer.
package nodes
