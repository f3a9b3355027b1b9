// Package controlclient is the control plane's side of the control protocol
// (see internal/ingress/table): it pushes tables and reads reports over the data
// plane's Unix socket.
//
// The ingress controller calls it. It links nothing of the proxy.
//
// What must never happen here: a decision about a table, a retry, or a
// connection that outlives its call's context.
package controlclient
