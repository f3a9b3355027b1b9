package outbox

import (
	"context"
	"fmt"
	"net/http"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// Outbox keeps callbacks, and sends them when it is told to. Many may use one at
// once, and several may have one store; of one lease there should be one caller at a
// time.
type Outbox struct {
	cfg     Config
	client  *http.Client
	backoff reconcile.Backoff
}

// New makes an Outbox, which has nothing to close. A Config that lacks something is
// an error.
func New(cfg Config) (*Outbox, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	client := *cfg.Client
	// The request that a redirect asks for is not the one that was signed.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Jar = nil
	return &Outbox{
		cfg:     cfg,
		client:  &client,
		backoff: reconcile.Backoff{Base: firstBackoff, Ceiling: MaxBackoff, Rand: cfg.Rand},
	}, nil
}

// Add stores a callback of a lease for url. It sends nothing: Step does.
//
// The operation names what the callback is about, in 1 to MaxOperation visible
// characters of ASCII. Of one operation there is one callback, so that whoever does
// not know whether Add came to its end may repeat it; what differs the second time is
// passed over. That holds while the callback waits, and for the MaxRemembered
// operations after it.
//
// The error text of the payload is made one line of at most backend.MaxCallbackError
// characters. Without a url the callback is counted, logged and not stored.
//
// The errors are ErrInvalid, ErrFull, ErrRecord and those of the store. After one of
// the store's the callback may be stored.
func (o *Outbox) Add(ctx context.Context, lease, url, operation string, payload backend.CallbackPayload) error {
	lease, body, err := checked(lease, url, operation, payload)
	if err != nil {
		return err
	}
	if url == "" {
		count(o.cfg.Metrics.NoTarget, 1)
		o.cfg.Logger.WarnContext(ctx, "a lease has no URL for callbacks", "lease_uuid", lease, "status", string(payload.Status))
		return nil
	}
	added, differs := 0, false
	now := o.cfg.Now().UTC()
	err = o.change(ctx, lease, func(r *record) (bool, error) {
		added, differs = 0, false
		if waiting, over := r.knows(operation); waiting != nil || over {
			differs = waiting != nil && (waiting.Body != body || waiting.URL != url)
			return false, nil
		}
		if len(r.Rows) >= MaxPending {
			return false, fmt.Errorf("callbacks of lease %s: %w: %d", lease, ErrFull, len(r.Rows))
		}
		added = 1
		r.LastSeq++
		r.Forgotten = false
		r.Rows = append(r.Rows, row{Seq: r.LastSeq, Operation: operation, URL: url, Body: body, CreatedAt: now})
		return true, nil
	})
	if err != nil {
		return err
	}
	o.cfg.Metrics.pending(added)
	if differs {
		o.cfg.Logger.WarnContext(ctx, "an operation has two callbacks, and the first stands", "lease_uuid", lease, "operation", operation)
	}
	return nil
}
