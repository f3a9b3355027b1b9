package backend

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

// Bounds of a list.
const (
	maxPages = 100_000
	// maxListed is how many leases are believed: no backend has as many, and without a
	// bound one that goes on for ever takes all of the memory.
	maxListed = 5_000_000
	// maxToken is how long a token may be, in bytes. It goes into the next URL.
	maxToken = 256
)

// allPages reads a list to its end, page by page. All of it is there, or it is an
// error: a page that fails, a token that does not increase and could so go round
// for ever or is too long, more pages or leases than there can be, a context that is
// done before a page is asked for.
func allPages[P, T any](ctx context.Context, c *HTTPClient, e *endpoint[P], open func(P) (items []T, next string)) ([]T, error) {
	all, after := []T{}, ""
	for n := range c.maxPages {
		page, err := call(ctx, c, e, request{query: pageQuery(c.cfg.ProvisionsPageLimit, after)})
		if err != nil {
			return nil, err
		}
		items, next := open(page)
		all = append(all, items...)
		if next == "" {
			return all, nil
		}
		if len(all) > c.maxListed {
			return nil, c.fail(e.operation, fmt.Errorf("%w: the list has more than %d leases", errWrongAnswer, c.maxListed))
		}
		if len(next) > maxToken {
			return nil, c.fail(e.operation, fmt.Errorf("%w: the token of page %d has %d bytes", errWrongAnswer, n+1, len(next)))
		}
		if next <= after {
			return nil, c.fail(e.operation, fmt.Errorf("%w: the token %q of page %d does not come after that of the page before", errWrongAnswer, clip(next), n+1))
		}
		after = next
	}
	return nil, c.fail(e.operation, fmt.Errorf("the list has more than %d pages", c.maxPages))
}

func pageQuery(limit int, after string) string {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if after != "" {
		q.Set("continue", after)
	}
	return q.Encode()
}
