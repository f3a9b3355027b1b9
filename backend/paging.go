package backend

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// ParseProvisionsPageParams reads the limit and the continue token of a list's
// query. Neither being there is all of the list, (0, "", nil). A limit that is no
// number from 0 on, a token that is no UUID, and a token without a limit are
// errors.
func ParseProvisionsPageParams(q url.Values) (limit int, continueToken string, err error) {
	if text := q.Get("limit"); q.Has("limit") {
		if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
			return 0, "", fmt.Errorf("limit %q is not a number from 0 on", clip(text))
		}
	}
	text := q.Get("continue")
	if !q.Has("continue") {
		return limit, "", nil
	}
	token, err := uuid.Parse(text)
	switch {
	case err != nil:
		return 0, "", fmt.Errorf("continue %q is not the UUID of a lease", clip(text))
	case limit == 0:
		return 0, "", fmt.Errorf("continue without a limit asks for no page")
	}
	return limit, token.String(), nil
}

// clip shortens what a stranger wrote for an error's text.
func clip(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// PaginateProvisions is one page of all, in the order of their UUIDs: those after
// continueToken, at most limit of them. A limit of 0 or less is all of them, one
// above MaxPageLimit is MaxPageLimit. The next token is "" when there
// is no more, and else the UUID of the page's last lease, which is greater than
// continueToken. The page is not nil, and all is left as it is.
//
// A UUID names one lease. Were there two of one, a page could end between them.
func PaginateProvisions(all []ProvisionInfo, continueToken string, limit int) (page []ProvisionInfo, next string) {
	return paginate(all, func(p *ProvisionInfo) string { return p.LeaseUUID }, continueToken, limit)
}

// PaginateRetentions is that for retained leases.
func PaginateRetentions(all []RetainedLease, continueToken string, limit int) (page []RetainedLease, next string) {
	return paginate(all, func(r *RetainedLease) string { return r.LeaseUUID }, continueToken, limit)
}

func paginate[T any](all []T, key func(*T) string, after string, limit int) (page []T, next string) {
	if limit <= 0 {
		after = ""
	}
	page = make([]T, 0, len(all))
	for i := range all {
		if after == "" || key(&all[i]) > after {
			page = append(page, all[i])
		}
	}
	slices.SortFunc(page, func(a, b T) int { return strings.Compare(key(&a), key(&b)) })
	limit = min(limit, MaxPageLimit)
	if limit <= 0 || len(page) <= limit {
		return page, ""
	}
	page = slices.Clip(page[:limit])
	return page, key(&page[limit-1])
}
