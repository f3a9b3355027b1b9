package server

import (
	"net/http"

	"github.com/berth-cloud/berth/backend"
)

// route is one operation of the protocol.
type route struct {
	name   string // of the operation, in logs and metrics
	method string
	path   string
	open   bool    // nobody has to sign for it
	may    []error // kinds that are more than a 500
	handle func(*http.Request) (answer, error)
}

// routes are the table of the protocol.
func (s *server) routes() []route {
	const get, post = http.MethodGet, http.MethodPost
	var (
		invalid  = backend.ErrValidation
		unknown  = backend.ErrNotProvisioned
		exists   = backend.ErrAlreadyProvisioned
		badState = backend.ErrInvalidState
		full     = backend.ErrInsufficientResources
	)
	return []route{
		{name: "provision", method: post, path: "/provision", handle: s.provision, may: []error{invalid, exists, full}},
		{name: "deprovision", method: post, path: "/deprovision", handle: s.deprovision},
		{name: "restart", method: post, path: "/restart", handle: s.restart, may: []error{invalid, unknown, badState}},
		{name: "update", method: post, path: "/update", handle: s.update, may: []error{invalid, unknown, badState}},
		{name: "restore", method: post, path: "/restore", handle: s.restore, may: []error{
			invalid, exists, badState, backend.ErrNotRetained, backend.ErrDemoteDataExceedsTier, backend.ErrRestoreRefused, full,
		}},
		{name: "reconcile_custom_domain", method: post, path: "/reconcile_custom_domain", handle: s.customDomain, may: []error{invalid, unknown, badState}},

		{name: "info", method: get, path: "/info/{lease}", handle: s.info, may: []error{unknown}},
		{name: "provisions", method: get, path: "/provisions", handle: s.provisions},
		{name: "provision_status", method: get, path: "/provisions/{lease}", handle: s.provisionStatus, may: []error{unknown}},
		{name: "logs", method: get, path: "/logs/{lease}", handle: s.logs, may: []error{unknown}},
		{name: "releases", method: get, path: "/releases/{lease}", handle: s.releases, may: []error{unknown}},
		{name: "retentions", method: get, path: "/retentions", handle: s.retentions},

		{name: "health", method: get, path: "/health", open: true, handle: s.health},
		{name: "stats", method: get, path: "/stats", open: true, handle: s.stats},
	}
}
