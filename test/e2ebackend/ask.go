package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/berth-cloud/berth/backend"
)

// refusals are answers of the backend: a request that has one was not taken. All else
// may mean anything, as the backend may have been killed in between.
var refusals = []error{backend.ErrValidation, backend.ErrInsufficientResources, backend.ErrInvalidState, backend.ErrAlreadyProvisioned, backend.ErrNotProvisioned, backend.ErrNotRetained, backend.ErrRestoreRefused}

func refused(err error) bool {
	return slices.ContainsFunc(refusals, func(kind error) bool { return errors.Is(err, kind) })
}

const askEvery = 50 * time.Millisecond

// read asks until there is an answer, which may be a refusal.
func read[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	for {
		v, err := ask(ctx)
		if err == nil || refused(err) {
			return v, err
		}
		if !pause(ctx, askEvery) {
			return v, fmt.Errorf("no answer in time: %w", err)
		}
	}
}

// change sends a request until it was taken. taken finds out, from what the backend
// says of the lease, whether one was taken of which the answer did not come.
func change(ctx context.Context, send func(context.Context) error, taken func(context.Context) (bool, error)) error {
	for {
		err := send(ctx)
		if err == nil || refused(err) {
			return err
		}
		if yes, lookErr := taken(ctx); lookErr != nil || yes {
			return lookErr
		}
		if !pause(ctx, askEvery) {
			return fmt.Errorf("not taken in time: %w", err)
		}
	}
}

// version asks the program at an address which one it is.
func version(ctx context.Context, client *http.Client, address string) (string, error) {
	return versionAt(ctx, client, address, "")
}

// errNoRoute is what the data plane answers for a host that it does not know.
var errNoRoute = errors.New("no such host")

// versionAt asks by a name that only the data plane knows.
func versionAt(ctx context.Context, client *http.Client, address, host string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", http.NoBody)
	if err != nil {
		return "", err
	}
	req.Host = host
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return "", fmt.Errorf("%s at %s: %w", host, address, errNoRoute)
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return resp.Header.Get("X-Version"), nil
}
