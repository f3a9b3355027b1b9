// Package process is the data plane as one process: directory lock, control
// socket, listeners, stored tables, and an orderly end.
//
// cmd/berth-node calls [Run]; tests call it with sockets of their own.
//
// What must never happen here: two processes on one directory, or an end that
// drops requests which could still have finished.
package process
