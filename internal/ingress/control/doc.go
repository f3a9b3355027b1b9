// Package control is the data plane's side of the control protocol (see
// internal/ingress/table): the tables of all owners, their durability and
// their versions, and the Unix socket that owners push to and read reports from.
//
// internal/ingress/process makes one [Plane] per process and serves it with
// [Server]. A successor of the same process takes everything over with
// [TakeOver]; see [Handover].
//
// What must never happen here: an acknowledgement of a table that is not both
// on disk and in use, or a request let through to targets of before a reboot
// without their owner's word.
package control
