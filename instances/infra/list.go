package infra

import (
	"context"
	"fmt"
)

// maxPages bounds a listing: a million machines in pages of the largest size.
const maxPages = 1000

// ListAll reads every page, and returns the owner's machines once each, in the
// order in which they first came. It is complete or an error: a page that fails,
// a token that comes twice and more pages than it reads leave no partial list.
// What is not marked as o's is dropped, and is never the caller's to touch.
//
// An empty list is what the provider said, and no proof that nothing is there.
func ListAll(ctx context.Context, p Provider, o Owner) ([]Instance, error) {
	var all []Instance
	at := map[string]int{}
	tokens := map[string]bool{}
	req := ListInstancesRequest{ClusterID: o.ClusterID, Shard: o.Shard, Limit: MaxPage}
	for range maxPages {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("list machines: %w", err)
		}
		page, err := p.ListInstances(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("list machines: %w", err)
		}
		for _, found := range page.Instances {
			if !found.OwnedBy(o) {
				continue
			}
			if i, ok := at[found.ProviderInstanceID]; ok {
				all[i] = found // the later page is the newer word
				continue
			}
			at[found.ProviderInstanceID] = len(all)
			all = append(all, found)
		}
		if page.NextToken == "" {
			return all, nil
		}
		if tokens[page.NextToken] {
			return nil, fmt.Errorf("list machines: %w: the provider gave the same page token twice", ErrUnavailable)
		}
		tokens[page.NextToken] = true
		req.NextToken = page.NextToken
	}
	return nil, fmt.Errorf("list machines: %w: more than %d pages", ErrUnavailable, maxPages)
}
