package outbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"strings"
	"time"

	"github.com/berth-cloud/berth/backend/hosting/egress"
)

const (
	maxDrain  = 4 << 10 // bytes of an answer
	drainTime = time.Second
)

// outcome is what came of one attempt.
type outcome struct {
	acknowledged bool
	// abandoned: the caller left before there was an answer.
	abandoned bool
	// refused: the receiver may not have believed the signature, or keeps its answer
	// to it.
	refused bool

	failure string // in words of this package
	detail  error  // for the operator alone; it may have text of the target in it
}

// send makes one attempt, which ends before the claim does.
func (o *Outbox) send(ctx context.Context, t turn) outcome {
	budget := min(SendTimeout, t.claim.Until.Sub(o.cfg.Now()))
	if budget <= 0 {
		return outcome{failure: "the attempt came too late"}
	}
	sending, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	req, err := http.NewRequestWithContext(sending, http.MethodPost, t.send.URL, strings.NewReader(t.send.Body))
	if err != nil {
		return outcome{failure: "the URL cannot be used"} // its text is in the error
	}
	req.Header.Set("Content-Type", "application/json")
	o.cfg.Key.SignRequest(req, []byte(t.send.Body), time.Unix(t.send.Signed, 0))
	resp, err := o.client.Do(req)
	if err != nil {
		return failed(ctx, sending, err)
	}
	defer resp.Body.Close()
	drain(resp.Body, cancel)
	return answered(resp.StatusCode)
}

func answered(status int) outcome {
	if status >= 200 && status < 300 {
		return outcome{acknowledged: true}
	}
	return outcome{refused: status >= 400 && status < 500, failure: fmt.Sprintf("answered with %d", status)}
}

func failed(ctx, sending context.Context, err error) outcome {
	// The text of a url.Error has the URL, and a URL may have a token.
	var of *neturl.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	out := outcome{failure: "no answer", detail: err}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		out.abandoned = true
	case sending.Err() != nil:
		out.failure = "no answer in time"
	case errors.Is(err, egress.ErrRefused), errors.Is(err, egress.ErrTarget):
		out.failure = "the address may not be dialled"
	}
	return out
}

// drain reads on for a little, as a connection whose answer was read to its end is
// good for the next request.
func drain(body io.Reader, cancel func()) {
	stop := time.AfterFunc(drainTime, cancel)
	defer stop.Stop()
	// The status is all that counts.
	_, _ = io.CopyN(io.Discard, body, maxDrain)
}
