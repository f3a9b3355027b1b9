package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// postSize is the length of the body that every fifth request sends and wants back.
const postSize = 1024

// plain makes short requests at a constant rate. The rate does not give way
// when answers are slow: late answers pile up as they would with real users.
func plain(ctx context.Context, c Config, client *http.Client, t *tally) {
	if c.Rate <= 0 {
		return
	}
	client.Timeout = answerTimeout
	get := vegeta.Target{Method: http.MethodGet, URL: c.url("/")}
	post := vegeta.Target{Method: http.MethodPost, URL: c.url("/echo"), Body: bytes.Repeat([]byte("b"), postSize)}
	attacker := vegeta.NewAttacker(vegeta.Client(client), vegeta.MaxWorkers(uint64(c.Rate)*uint64(answerTimeout/time.Second)))
	stop := context.AfterFunc(ctx, func() { attacker.Stop() })
	defer stop()
	mix := []vegeta.Target{get, get, get, get, post}
	if c.OnlyGet {
		mix = []vegeta.Target{get}
	}
	results := attacker.Attack(vegeta.NewStaticTargeter(mix...), vegeta.Rate{Freq: c.Rate, Per: time.Second}, 0, "")
	answered := false
	for r := range results {
		err := judge(r)
		t.request(r, err)
		if err == nil && !answered && c.FirstAnswer != nil {
			answered = true
			c.FirstAnswer()
		}
		if err == nil && c.Answered != nil {
			c.Answered(r.Timestamp, origin(r.Headers))
		}
	}
}

// judge tells why a plain request failed, if it did.
func judge(r *vegeta.Result) error {
	what := r.Method + " " + r.URL
	switch {
	case r.Code == 0: // no answer, or one that was cut
		return fmt.Errorf("%s: %s", what, r.Error)
	case r.Code != http.StatusOK:
		return fmt.Errorf("%s: status %d", what, r.Code)
	case r.Error != "":
		return fmt.Errorf("%s: %s", what, r.Error)
	case r.Method == http.MethodPost && len(r.Body) != postSize:
		return fmt.Errorf("%s: %d bytes came back of %d", what, len(r.Body), postSize)
	case len(r.Body) == 0:
		return fmt.Errorf("%s: an empty body", what)
	}
	return nil
}

// slow always has one request open that takes c.SlowFor.
func slow(ctx context.Context, c Config, client *http.Client, t *tally) {
	wait := c.SlowFor
	if wait == 0 {
		wait = 5 * time.Second
	}
	client.Timeout = slowTimeout
	url := c.url(fmt.Sprintf("/slow?ms=%d", wait.Milliseconds()))
	repeat(ctx, func() error {
		// Not ctx: a request that has begun is carried to its end.
		req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		t.attempt(slowRequest)
		began := time.Now()
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			c.opened(began, resp.Header)
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err != nil {
			return fmt.Errorf("GET %s: body cut after %d bytes: %w", url, len(body), err)
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: status %d", url, resp.StatusCode)
		}
		if !strings.HasSuffix(string(body), "done\n") {
			return errors.New("GET " + url + ": body without its end")
		}
		return nil
	}, func(err error) { t.failure(slowRequest, err) })
}
