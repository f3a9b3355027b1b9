package server

import (
	"context"
	"net/http"

	"github.com/berth-cloud/berth/backend"
)

// provisions is all leases, a page of them, or those that the query names.
func (s *server) provisions(r *http.Request) (answer, error) {
	q, err := query(r.URL.RawQuery)
	if err != nil {
		return answer{}, err
	}
	if q.Has("lease_uuid") {
		ids, err := lookupIDs(q["lease_uuid"])
		if err != nil {
			return answer{}, err
		}
		found, err := s.backend.LookupProvisions(r.Context(), ids)
		return ok(backend.ListProvisionsResponse{Provisions: notNil(found)}), err
	}
	limit, after, err := backend.ParseProvisionsPageParams(q)
	if err != nil {
		return answer{}, badRequest(err.Error())
	}
	page, next, err := s.pageProvisions(r.Context(), after, limit)
	return ok(backend.ListProvisionsResponse{Provisions: notNil(page), Continue: next}), err
}

func (s *server) pageProvisions(ctx context.Context, after string, limit int) ([]backend.ProvisionInfo, string, error) {
	if pager, can := s.backend.(backend.ProvisionPager); can && limit > 0 {
		return pager.PageProvisions(ctx, after, min(limit, backend.MaxPageLimit))
	}
	all, err := s.backend.ListProvisions(ctx)
	if err != nil {
		return nil, "", err
	}
	page, next := backend.PaginateProvisions(all, after, limit)
	return page, next, nil
}

// retentions is all retained leases, or a page of them.
func (s *server) retentions(r *http.Request) (answer, error) {
	q, err := query(r.URL.RawQuery)
	if err != nil {
		return answer{}, err
	}
	limit, after, err := backend.ParseProvisionsPageParams(q)
	if err != nil {
		return answer{}, badRequest(err.Error())
	}
	page, next, err := s.pageRetentions(r.Context(), after, limit)
	return ok(backend.ListRetentionsResponse{Retentions: notNil(page), Continue: next}), err
}

func (s *server) pageRetentions(ctx context.Context, after string, limit int) ([]backend.RetainedLease, string, error) {
	if pager, can := s.backend.(backend.RetentionPager); can && limit > 0 {
		return pager.PageRetentions(ctx, after, min(limit, backend.MaxPageLimit))
	}
	all, err := s.backend.ListRetentions(ctx)
	if err != nil {
		return nil, "", err
	}
	page, next := backend.PaginateRetentions(all, after, limit)
	return page, next, nil
}
