// Command e2emachines makes machines out of namespaces of this host, and runs what a
// shard is for on them: they boot with a one-time token, register, are reached through
// their agents, run a container that answers, and go without leaving anything.
//
// `make e2e-machines` runs it. It needs root, iproute2 and dockerd. Its last line is
//
//	machines: <created> created, <registered> registered, <leaked> leaked, <failed> failed requests
//
// and it ends with 0 only if as many machines registered as were asked for, and nothing
// was leaked and no request failed.
package main
