package server

import (
	"net/http"

	"github.com/berth-cloud/berth/backend"
)

func (s *server) provision(r *http.Request) (answer, error) {
	var req backend.ProvisionRequest
	if err := decode(r, &req); err != nil {
		return answer{}, err
	}
	if err := first(
		leaseID("lease_uuid", &req.LeaseUUID), callbackURL(req.CallbackURL),
		name("tenant", req.Tenant), name("provider_uuid", req.ProviderUUID),
		items(&req.Items), payload(req.Payload, req.PayloadHash),
	); err != nil {
		return answer{}, err
	}
	if err := s.backend.Provision(r.Context(), req); err != nil {
		return answer{}, err
	}
	return accepted(backend.ProvisionResponse{ProvisionID: req.LeaseUUID}), nil
}

func (s *server) deprovision(r *http.Request) (answer, error) {
	var req backend.DeprovisionRequest
	if err := decode(r, &req); err != nil {
		return answer{}, err
	}
	if err := leaseID("lease_uuid", &req.LeaseUUID); err != nil {
		return answer{}, err
	}
	if err := s.backend.Deprovision(r.Context(), req.LeaseUUID); err != nil {
		return answer{}, err
	}
	return ok(status{Status: "ok"}), nil
}

func (s *server) restart(r *http.Request) (answer, error) {
	var req backend.RestartRequest
	if err := decode(r, &req); err != nil {
		return answer{}, err
	}
	if err := first(leaseID("lease_uuid", &req.LeaseUUID), callbackURL(req.CallbackURL)); err != nil {
		return answer{}, err
	}
	if err := s.backend.Restart(r.Context(), req); err != nil {
		return answer{}, err
	}
	return accepted(status{Status: string(backend.ProvisionStatusRestarting)}), nil
}

func (s *server) update(r *http.Request) (answer, error) {
	var req backend.UpdateRequest
	if err := decode(r, &req); err != nil {
		return answer{}, err
	}
	if len(req.Payload) == 0 {
		return answer{}, badRequest("payload is missing")
	}
	if err := first(
		leaseID("lease_uuid", &req.LeaseUUID), callbackURL(req.CallbackURL), payload(req.Payload, req.PayloadHash),
	); err != nil {
		return answer{}, err
	}
	if err := s.backend.Update(r.Context(), req); err != nil {
		return answer{}, err
	}
	return accepted(status{Status: string(backend.ProvisionStatusUpdating)}), nil
}

func (s *server) restore(r *http.Request) (answer, error) {
	var req backend.RestoreRequest
	if err := decode(r, &req); err != nil {
		return answer{}, err
	}
	if err := first(
		leaseID("lease_uuid", &req.LeaseUUID), leaseID("from_lease_uuid", &req.FromLeaseUUID),
		callbackURL(req.CallbackURL),
		name("tenant", req.Tenant), name("provider_uuid", req.ProviderUUID),
		items(&req.Items),
	); err != nil {
		return answer{}, err
	}
	if err := s.backend.Restore(r.Context(), req); err != nil {
		return answer{}, err
	}
	return accepted(status{Status: "restoring"}), nil
}

func (s *server) customDomain(r *http.Request) (answer, error) {
	var req backend.ReconcileCustomDomainRequest
	if err := decode(r, &req); err != nil {
		return answer{}, err
	}
	if err := first(leaseID("lease_uuid", &req.LeaseUUID), items(&req.Items)); err != nil {
		return answer{}, err
	}
	if err := s.backend.ReconcileCustomDomain(r.Context(), req.LeaseUUID, req.Items); err != nil {
		return answer{}, err
	}
	return answer{code: http.StatusNoContent}, nil
}
