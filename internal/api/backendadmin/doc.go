// Package backendadmin is what a backend answers on the Unix socket of its machine,
// to who operates it: the reads of the backend protocol without signatures, and what
// the protocol does not tell.
//
//	GET  /admin/status           name, version, health, drain, capacity, leases by status
//	GET  /admin/leases           UUIDs of leases; prefix=, limit= up to 200
//	GET  /admin/leases/{lease}   the row of a lease with its history, domains, volumes and
//	                             callbacks, or what is kept of one that is gone
//	GET  /admin/retentions       volumes that leases left; continue=, limit= up to 200
//	GET  /admin/drain            whether leases are taken
//	POST /admin/drain            {"on": true} or {"on": false}
//	GET  /provisions, /provisions/{lease}, /info/{lease}, /logs/{lease},
//	     /releases/{lease}, /retentions, /health, /stats   as in backend/server
//
// The daemon serves it, `berth backend` asks. Root may, and the user that runs the
// daemon; the kernel says who is at the other end. Failures are problem documents,
// those of the protocol's reads the protocol's own.
//
// What must never happen here: a route that anybody may call, a change of a lease,
// an answer over a port, a manifest or the path of a callback in an answer of its own
// routes.
package backendadmin
