package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/berth-cloud/berth/backend"
)

// errNoAnswer is a backend that answered with neither a value nor an error.
var errNoAnswer = errors.New("the backend answered with nothing")

// lease is the one that the path names.
func lease(r *http.Request) (string, error) {
	id := r.PathValue("lease")
	err := leaseID("the lease of the path", &id)
	return id, err
}

func (s *server) info(r *http.Request) (answer, error) {
	id, err := lease(r)
	if err != nil {
		return answer{}, err
	}
	info, err := s.backend.GetInfo(r.Context(), id)
	if err == nil && info == nil {
		err = errNoAnswer
	}
	return ok(info), err
}

func (s *server) provisionStatus(r *http.Request) (answer, error) {
	id, err := lease(r)
	if err != nil {
		return answer{}, err
	}
	info, err := s.backend.GetProvision(r.Context(), id)
	if err == nil && info == nil {
		err = errNoAnswer
	}
	return ok(info), err
}

func (s *server) logs(r *http.Request) (answer, error) {
	id, err := lease(r)
	if err != nil {
		return answer{}, err
	}
	tail, err := logTail(r.URL.RawQuery)
	if err != nil {
		return answer{}, err
	}
	logs, err := s.backend.GetLogs(r.Context(), id, tail)
	if logs == nil {
		logs = map[string]string{}
	}
	return ok(logs), err
}

// logTail is how many lines of each container a query asks for.
func logTail(raw string) (int, error) {
	q, err := query(raw)
	if err != nil || !q.Has("tail") {
		return backend.DefaultLogTail, err
	}
	n, err := strconv.Atoi(q.Get("tail"))
	if err != nil || n < 1 || n > backend.MaxLogTail {
		return 0, badRequest(fmt.Sprintf("tail is not a number from 1 to %d", backend.MaxLogTail))
	}
	return n, nil
}

// query reads one strictly: a part that is lost could be the one that narrows.
func query(raw string) (url.Values, error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badRequest("the query is not well formed")
	}
	return q, nil
}

func (s *server) releases(r *http.Request) (answer, error) {
	id, err := lease(r)
	if err != nil {
		return answer{}, err
	}
	releases, err := s.backend.GetReleases(r.Context(), id)
	return ok(notNil(releases)), err
}

// notNil is [] in JSON where nil would be null.
func notNil[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// lookupIDs are the leases of a filter, each once.
func lookupIDs(ids []string) ([]string, error) {
	if len(ids) > backend.MaxLookupUUIDs {
		return nil, badRequest(fmt.Sprintf("lease_uuid is there %d times, at most %d are looked up at once", len(ids), backend.MaxLookupUUIDs))
	}
	ids = slices.Clone(ids)
	for i := range ids {
		if err := leaseID("lease_uuid", &ids[i]); err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
