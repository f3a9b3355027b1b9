package registration

import (
	"context"
	"errors"
	"net/http"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/wire"
)

// problems are what may be said of an error. The first one that fits is.
var problems = []struct {
	err    error
	status int
	code   string
	text   string
}{
	{instances.ErrTokenExpired, http.StatusUnauthorized, wire.CodeTokenExpired, "the token has expired"},
	{instances.ErrTokenNotYetValid, http.StatusUnauthorized, wire.CodeTokenNotYetValid, "the token is not valid yet: compare the clocks"},
	{instances.ErrWrongCluster, http.StatusForbidden, wire.CodeTokenCluster, "the token is for another cluster"},
	{instances.ErrWrongShard, http.StatusForbidden, wire.CodeTokenShard, "the token is for another shard"},
	{instances.ErrTokenUsed, http.StatusConflict, wire.CodeTokenUsed, "the token was used with another key"},
	{instances.ErrWrongKey, http.StatusForbidden, wire.CodeProofInvalid, "the instance is registered with another key"},
	{instances.ErrTokenInvalid, http.StatusUnauthorized, wire.CodeTokenInvalid, "the token is not valid"},
	{instances.ErrInstanceDeleted, http.StatusGone, wire.CodeInstanceDeleted, "the instance is deleted"},
	{instances.ErrDenied, http.StatusGone, wire.CodeInstanceDeleted, "the certificate holds no more"},
	{instances.ErrInstanceNotFound, http.StatusNotFound, wire.CodeInstanceUnknown, "there is no such instance"},
	{instances.ErrNotLeader, http.StatusServiceUnavailable, wire.CodeNotLeader, "this server does not lead the shard; ask again"},
	{instances.ErrTooMany, http.StatusTooManyRequests, wire.CodeRateLimited, "the instance has too many certificates; ask again later"},
	{instances.ErrContended, http.StatusServiceUnavailable, wire.CodeRateLimited, "the instance is being changed; ask again"},
	{instances.ErrInvalidRequest, http.StatusBadRequest, wire.CodeInternal, "what the agent says of itself cannot be"},
	{storage.ErrUnavailable, http.StatusServiceUnavailable, wire.CodeInternal, "the records cannot be reached; ask again"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, wire.CodeInternal, "it took too long; ask again"},
}

func problem(err error) (status int, code, text string) {
	for _, p := range problems {
		if errors.Is(err, p.err) {
			return p.status, p.code, p.text
		}
	}
	return http.StatusInternalServerError, wire.CodeInternal, "something failed here; ask again"
}
