package providertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// answerTime bounds one question to a container.
const answerTime = 10 * time.Second

// endpoints are those of a service, of all replicas or of one.
func endpoints(st *provider.InstanceStatus, service string, replica int) []provider.Endpoint {
	var out []provider.Endpoint
	for _, ep := range st.Endpoints {
		if ep.ServiceName == service && (replica < 0 || ep.Replica != nil && *ep.Replica == replica) {
			out = append(out, ep)
		}
	}
	return out
}

// do asks a replica of a service to take steps, and returns what they print. It
// waits until the replica has an endpoint; -1 is any replica.
func (e *env) do(instance id.ID, service string, replica int, steps ...string) string {
	e.Helper()
	said, err := e.try(instance, service, replica, steps...)
	if err != nil {
		e.Fatalf("%s, asked to take %q: %v", service, steps, err)
	}
	return said
}

// try is do for steps that may fail: the error is what the container answered.
func (e *env) try(instance id.ID, service string, replica int, steps ...string) (string, error) {
	e.Helper()
	var said string
	var err error
	answered := e.Wait(func() bool {
		if e.ctx.Err() != nil {
			return true
		}
		e.step()
		var st *provider.InstanceStatus
		if st, err = e.Provider.Status(e.ctx, instance); err != nil {
			return false
		}
		all := endpoints(st, service, replica)
		if len(all) == 0 {
			err = fmt.Errorf("no endpoint of replica %d, only %+v", replica, st.Endpoints)
			return false
		}
		said, err = e.ask(e.ctx, all[0], steps...)
		var answer *answerError
		return err == nil || errors.As(err, &answer)
	})
	if !answered || e.ctx.Err() != nil {
		e.Fatalf("%s, asked to take %q, did not answer: %v", service, steps, err)
	}
	return strings.TrimSuffix(said, "\n"), err
}

// kick asks for steps after which there may be nobody left to answer.
func (e *env) kick(instance id.ID, service string, replica int, steps ...string) {
	e.Helper()
	all := endpoints(e.status(instance), service, replica)
	if len(all) == 0 {
		e.Fatalf("%s has no endpoint", service)
	}
	_, _ = e.ask(e.ctx, all[0], steps...)
}

// answerError is an answer that says that a step failed.
type answerError struct{ status, text string }

func (a *answerError) Error() string { return a.status + ": " + a.text }

// ask puts one question to one endpoint.
func (e *env) ask(ctx context.Context, ep provider.Endpoint, steps ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	target := "http://conformance/do?" + url.Values{"step": steps}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return e.dial(ctx, ep) },
	}}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = &answerError{res.Status, strings.TrimSpace(string(body))}
	}
	return string(body), err
}

// silence is how long somebody has to answer where nobody shall. Whoever is there
// answers within milliseconds; for who is not, a network may take seconds to say so.
const silence = time.Second

// noneAnswers fails when an endpoint answers.
func (e *env) noneAnswers(ways []provider.Endpoint, when string) {
	e.Helper()
	said := make([]string, len(ways))
	var all sync.WaitGroup
	for i, ep := range ways {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(e.ctx, silence)
			defer cancel()
			if answer, err := e.ask(ctx, ep, "hostname"); err == nil {
				said[i] = fmt.Sprintf("endpoint %s answers %q %s", ep.URL, answer, when)
			}
		})
	}
	all.Wait()
	for _, text := range said {
		if text != "" {
			e.Errorf("%s", text)
		}
	}
}

func (e *env) dial(ctx context.Context, ep provider.Endpoint) (net.Conn, error) {
	if e.Dial != nil {
		return e.Dial(ctx, ep)
	}
	u, err := url.Parse(ep.URL)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", u.Host)
}

// refs are the handles of the containers of a service, by replica.
func refs(st *provider.InstanceStatus, service string) []string {
	var out []string
	for _, r := range st.Services[service].Replicas {
		out = append(out, r.ProviderRef)
	}
	return out
}

// same fails when the containers of a service are others than before.
func (e *env) same(instance id.ID, service string, before []string, after string) {
	e.Helper()
	if now := refs(e.status(instance), service); !slices.Equal(now, before) {
		e.Errorf("%s the containers of %s are %q, before they were %q", after, service, now, before)
	}
}

// settle lets a little time pass in which nothing shall happen.
func (e *env) settle() {
	polls := 0
	e.Wait(func() bool { e.step(); polls++; return polls > 5 })
}
