// Package manifest is what a tenant deploys on a lease: a JSON document that says
// which images run, and how. A document is one service,
//
//	{"image": "nginx:1.29", "ports": {"80/tcp": {}}}
//
// which is taken as the service "app", or several by their names:
//
//	{"services": {
//	  "web": {"image": "shop/web:4", "ports": {"8080/tcp": {"ingress": true}},
//	          "depends_on": {"db": {"condition": "service_healthy"}}},
//	  "db":  {"image": "postgres:17", "user": "70:70",
//	          "health_check": {"test": ["CMD", "pg_isready"]}}}}
//
// [Parse] reads one and tells everything that is wrong with it at once. [Schema] is
// the same rules as JSON Schema, as far as they can be said there. [Stack.Match]
// holds it against the items of a lease, a [Policy] against the registries that an
// operator allows, and [Stack.Workload] makes of a service what a provider runs.
// [Stack.Hash] is one for all documents that mean the same.
//
// The callers are the hosting backend, before it reserves or starts anything, and
// tools that check a document before it is sent.
//
// What must never happen here: a field that is read and has no effect, a field of an
// engine that a tenant reaches by another name, a value of a tenant (a variable, an
// argument, a label's value) in an error, work that grows faster than the document.
package manifest
