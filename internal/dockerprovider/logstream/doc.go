// Package logstream reads the logs of a workload's containers as one stream: what
// is there already in the order of time, then, for who follows, every new line as
// it comes, over restarts and deploys.
//
// The driver's Logs starts a Stream for each call.
//
// What must never happen here: a line held back until a container ends, a buffer
// that grows with the log, a goroutine that lives on after Close.
package logstream
