package server

import (
	"cmp"
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
		return ok(listOf(found, "")), err
	}
	limit, after, err := backend.ParseProvisionsPageParams(q)
	if err != nil {
		return answer{}, badRequest(err.Error())
	}
	page, next, err := s.pageProvisions(r.Context(), after, limit)
	return ok(listOf(page, next)), err
}

// plainInfo is a ProvisionInfo that is encoded field by field. Its own MarshalJSON has
// every lease encoded, and what came of it gone through twice more.
type plainInfo backend.ProvisionInfo

// list is a backend.ListProvisionsResponse.
type list struct {
	Provisions []plainInfo `json:"provisions"`
	Continue   string      `json:"continue,omitempty"`
}

func listOf(page []backend.ProvisionInfo, next string) list {
	out := list{Provisions: make([]plainInfo, len(page)), Continue: next}
	for i, info := range page {
		// The words stand in both fields, as in the other.
		info.LastError, info.Message = cmp.Or(info.LastError, info.Message), cmp.Or(info.Message, info.LastError)
		out.Provisions[i] = plainInfo(info)
	}
	return out
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
