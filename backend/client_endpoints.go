package backend

import (
	"errors"
	"net/http"
	"strings"
)

// endpoint is one row of the protocol, the success of which is a T.
type endpoint[T any] struct {
	route
	// decode reads the body of a success; nil is any JSON that fits a T.
	decode func(body []byte) (T, error)
	// check is whether an answer is one to the request. That it has the right status
	// and is JSON may be the work of something in between.
	check func(req request, out T) error
}

// route is what of an endpoint does not depend on its answer.
type route struct {
	operation string // as metrics and errors name it
	method    string
	path      string // with {lease}
	success   int
	alsoOK    int                           // a success whose body says nothing, and is not looked at; 0 is none
	bound     func(*HTTPClientConfig) int64 // of the body of a success; nil is maxAckBytes
	refusals  map[int]refusal               // by status; another is a failure

	bare        bool // neither signed nor behind the breaker
	tenantSized bool // a tenant has a say in how large the answer is
}

// request is what a call asks of an endpoint.
type request struct {
	lease string
	query string
	body  any // nil is none
}

const (
	maxAckBytes   = 64 << 10 // of an answer that only accepts something
	maxErrorBytes = 4 << 10
)

// ack is the answer of what is accepted.
type ack struct {
	Status string `json:"status"`
}

func checkAck(_ request, out ack) error {
	if out.Status == "" {
		return errors.New("it has no status")
	}
	return nil
}

var endpointProvision = endpoint[ProvisionResponse]{
	route: route{
		operation: "provision", method: http.MethodPost, path: "/provision", success: http.StatusAccepted,
		refusals: map[int]refusal{
			http.StatusBadRequest:         refusedValidation,
			http.StatusConflict:           refusedAs(ErrAlreadyProvisioned),
			http.StatusServiceUnavailable: refusedAs(ErrInsufficientResources),
		},
	},
	check: func(_ request, out ProvisionResponse) error {
		if out.ProvisionID == "" {
			return errors.New("it has no provision_id")
		}
		return nil
	},
}

var endpointDeprovision = endpoint[ack]{
	route: route{
		operation: "deprovision", method: http.MethodPost, path: "/deprovision", success: http.StatusOK,
		refusals: map[int]refusal{http.StatusBadRequest: refusedValidation},
	},
	check: checkAck,
}

// refusalsOfChange are those of what is done to a lease that is there.
var refusalsOfChange = map[int]refusal{
	http.StatusBadRequest: refusedValidation,
	http.StatusNotFound:   refusedAs(ErrNotProvisioned),
	http.StatusConflict:   refusedAs(ErrInvalidState),
}

var endpointRestart = endpoint[ack]{
	route: route{operation: "restart", method: http.MethodPost, path: "/restart", success: http.StatusAccepted, refusals: refusalsOfChange},
	check: checkAck,
}

var endpointUpdate = endpoint[ack]{
	route: route{operation: "update", method: http.MethodPost, path: "/update", success: http.StatusAccepted, refusals: refusalsOfChange},
	check: checkAck,
}

var endpointRestore = endpoint[ack]{
	route: route{
		operation: "restore", method: http.MethodPost, path: "/restore", success: http.StatusAccepted,
		refusals: map[int]refusal{
			http.StatusBadRequest:          refusedValidation,
			http.StatusConflict:            refusedByCode(ErrInvalidState, ErrorCodeAlreadyProvisioned, ErrAlreadyProvisioned, ErrInvalidState),
			http.StatusUnprocessableEntity: refusedByCode(ErrNotRetained, ErrorCodeDemoteExceedsTier, ErrDemoteDataExceedsTier, ErrRestoreRefused),
			http.StatusServiceUnavailable:  refusedAs(ErrInsufficientResources),
		},
	},
	check: checkAck,
}

var endpointCustomDomain = endpoint[struct{}]{
	route: route{
		operation: "reconcile_custom_domain", method: http.MethodPost, path: "/reconcile_custom_domain",
		success: http.StatusNoContent, alsoOK: http.StatusAccepted, refusals: refusalsOfChange,
	},
}

// refusalsOfLease are those of what is read of one lease.
var refusalsOfLease = map[int]refusal{http.StatusNotFound: refusedAs(ErrNotProvisioned)}

var endpointInfo = endpoint[*LeaseInfo]{
	route: route{
		operation: "get_info", method: http.MethodGet, path: "/info/{lease}", success: http.StatusOK, refusals: refusalsOfLease,
		bound: func(cfg *HTTPClientConfig) int64 { return cfg.MaxInfoBytes },
	},
	check: func(_ request, out *LeaseInfo) error {
		if out == nil {
			return errors.New("it is null")
		}
		return nil
	},
}

var endpointProvisionInfo = endpoint[*ProvisionInfo]{
	route: route{
		operation: "get_provision", method: http.MethodGet, path: "/provisions/{lease}", success: http.StatusOK, refusals: refusalsOfLease,
		bound: func(cfg *HTTPClientConfig) int64 { return cfg.MaxProvisionBytes },
	},
	check: func(req request, out *ProvisionInfo) error {
		if out == nil || !strings.EqualFold(out.LeaseUUID, req.lease) {
			return errors.New("it is not of the lease that was asked for")
		}
		return nil
	},
}

var endpointLogs = endpoint[map[string]string]{
	route: route{
		operation: "get_logs", method: http.MethodGet, path: "/logs/{lease}", success: http.StatusOK, refusals: refusalsOfLease,
		bound:       func(cfg *HTTPClientConfig) int64 { return cfg.MaxLogsBytes },
		tenantSized: true,
	},
}

var endpointReleases = endpoint[[]ReleaseInfo]{
	route: route{
		operation: "get_releases", method: http.MethodGet, path: "/releases/{lease}", success: http.StatusOK, refusals: refusalsOfLease,
		bound:       func(cfg *HTTPClientConfig) int64 { return cfg.MaxReleasesBytes },
		tenantSized: true,
	},
	decode: decodeReleases,
}

var endpointList = endpoint[ListProvisionsResponse]{
	route: route{
		operation: "list_provisions", method: http.MethodGet, path: "/provisions", success: http.StatusOK,
		bound: func(cfg *HTTPClientConfig) int64 { return cfg.MaxProvisionsBytes },
	},
	decode: decodeProvisions,
}

var endpointLookup = endpoint[ListProvisionsResponse]{
	route: route{
		operation: "lookup_provisions", method: http.MethodGet, path: "/provisions", success: http.StatusOK, refusals: refusalsOfLease,
		bound: func(cfg *HTTPClientConfig) int64 { return cfg.MaxLookupProvisionsBytes },
	},
	decode: decodeProvisions,
	check: func(_ request, out ListProvisionsResponse) error {
		if out.Continue != "" {
			return errors.New("it is one page of more, and a lookup has no pages")
		}
		return nil
	},
}

var endpointRetentions = endpoint[ListRetentionsResponse]{
	route: route{
		operation: "list_retentions", method: http.MethodGet, path: "/retentions", success: http.StatusOK,
		bound: func(cfg *HTTPClientConfig) int64 { return cfg.MaxRetentionsBytes },
	},
	decode: decodeRetentions,
}

// endpointStats may answer null, from a backend that does not count.
var endpointStats = endpoint[*LoadStats]{
	route: route{
		operation: "get_load_stats", method: http.MethodGet, path: "/stats", success: http.StatusOK,
		bound: func(cfg *HTTPClientConfig) int64 { return cfg.MaxStatsBytes },
	},
}

var endpointHealth = endpoint[ack]{
	route: route{operation: "health", method: http.MethodGet, path: "/health", success: http.StatusOK, bare: true},
	check: checkAck,
}
