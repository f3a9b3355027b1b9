package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// socketPath is a path for a socket, short enough for one.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-client")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// listen serves the handler on a socket until the returned function is called.
func listen(t *testing.T, socket string, h http.HandlerFunc) (stop func()) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = server.Close()
			<-done
		}
	}
	t.Cleanup(stop)
	return stop
}

// dial makes a client of a server with the handler.
func dial(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	socket := socketPath(t)
	listen(t, socket, h)
	c := client.New(socket)
	t.Cleanup(c.Close)
	return c
}

func send(w http.ResponseWriter, id, name string, data any) {
	text, _ := json.Marshal(data)
	if id != "" {
		fmt.Fprintf(w, "id: %s\n", id)
	}
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
	_ = http.NewResponseController(w).Flush()
}

func TestNobodyOnTheSocketIsUnreachable(t *testing.T) {
	c := client.New(socketPath(t))
	defer c.Close()
	_, err := c.Apps(t.Context())
	if !errors.Is(err, client.ErrUnreachable) || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), c.Socket()) {
		t.Errorf("got %v", err)
	}
	_, err = c.FollowAttempt(t.Context(), 1, 0, client.Follower{})
	if !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("following: %v", err)
	}
}

func TestARefusalIsTheProblemTheServerSent(t *testing.T) {
	c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(wire.Problem{Type: wire.ProblemConflict, Title: "Changed meanwhile", Plan: &wire.Plan{App: "shop"}})
	})
	_, err := c.Apply(t.Context(), wire.ApplyRequest{})
	var p *wire.Problem
	if !client.IsProblem(err, wire.ProblemConflict) || !errors.As(err, &p) || p.Status != http.StatusConflict || p.Plan.App != "shop" {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerThatIsNoProblemIsOneAllTheSame(t *testing.T) {
	c := dial(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<h1>oops</h1>", http.StatusBadGateway) })
	_, err := c.Apps(t.Context())
	var p *wire.Problem
	if !errors.As(err, &p) || p.Status != http.StatusBadGateway || strings.Contains(p.Error(), "oops") {
		t.Errorf("got %v", err)
	}
}

func TestNamesAreEscapedInPaths(t *testing.T) {
	var path atomic.Value
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		path.Store(r.URL.EscapedPath())
		_, _ = w.Write([]byte("{}"))
	})
	if _, err := c.Releases(t.Context(), "a/../b", "x?y"); err != nil {
		t.Fatal(err)
	}
	if got := path.Load(); got != "/v1/apps/a%2F..%2Fb/services/x%3Fy/releases" {
		t.Errorf("path %v", got)
	}
}

func TestFollowingGoesOnWhereABrokenStreamEnded(t *testing.T) {
	var calls atomic.Int32
	var resumed atomic.Value
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			send(w, "1", wire.EventTrace, wire.TraceEvent{ID: 1, Phase: "resolve"})
			send(w, "2", wire.EventTrace, wire.TraceEvent{ID: 2, Phase: "create"})
			panic(http.ErrAbortHandler)
		}
		resumed.Store(r.Header.Get("Last-Event-ID"))
		send(w, "3", wire.EventTrace, wire.TraceEvent{ID: 3, Phase: "done"})
		send(w, "", wire.EventDone, wire.Attempt{ID: 7, State: wire.AttemptSucceeded})
	})
	var phases []string
	lost := 0
	final, err := c.FollowAttempt(t.Context(), 7, 0, client.Follower{
		Trace: func(e wire.TraceEvent) { phases = append(phases, e.Phase) },
		Lost:  func(error) { lost++ },
	})
	if err != nil || final.State != wire.AttemptSucceeded {
		t.Fatalf("%+v, %v", final, err)
	}
	if got := strings.Join(phases, " "); got != "resolve create done" || resumed.Load() != "2" || lost != 1 {
		t.Errorf("phases %s, resumed after %v, lost %d times", got, resumed.Load(), lost)
	}
}

func TestFollowingWaitsForADaemonThatStartsAgain(t *testing.T) {
	socket := socketPath(t)
	begun := make(chan struct{})
	stop := listen(t, socket, func(w http.ResponseWriter, r *http.Request) {
		send(w, "1", wire.EventTrace, wire.TraceEvent{ID: 1})
		close(begun)
		<-r.Context().Done()
	})
	c := client.New(socket)
	defer c.Close()
	lost := make(chan struct{}, 64)
	ended := make(chan error, 1)
	go func() {
		_, err := c.FollowAttempt(t.Context(), 1, 0, client.Follower{Lost: func(error) { lost <- struct{}{} }})
		ended <- err
	}()
	<-begun
	stop()
	<-lost
	<-lost // the second try found nobody
	listen(t, socket, func(w http.ResponseWriter, _ *http.Request) {
		send(w, "", wire.EventDone, wire.Attempt{ID: 1, State: wire.AttemptFailed})
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFollowingEndsWithItsContext(t *testing.T) {
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		send(w, "", wire.EventAttempt, wire.Attempt{ID: 1})
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.FollowAttempt(ctx, 1, 0, client.Follower{Attempt: func(wire.Attempt) { cancel() }})
	if !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrUnreachable) {
		t.Errorf("ended with %v", err)
	}
}

func TestARefusedStreamIsNotTriedAgain(t *testing.T) {
	var calls atomic.Int32
	c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(wire.Problem{Type: wire.ProblemNotFound})
	})
	_, err := c.FollowAttempt(t.Context(), 1, 0, client.Follower{})
	if !client.IsProblem(err, wire.ProblemNotFound) || calls.Load() != 1 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}

func TestLogsAskForWhatTheQuerySays(t *testing.T) {
	var query atomic.Value
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		query.Store(r.URL.Path + "?" + r.URL.RawQuery)
		send(w, "2026-03-04T10:00:00Z", wire.EventLog, wire.LogEntry{Text: "hello\nworld"})
		send(w, "", wire.EventEnd, struct{}{})
	})
	var got []string
	err := c.Logs(t.Context(), wire.LogQuery{
		App: "shop", Service: "web", Members: []string{"main", "cache"}, Tail: 5, Follow: true, Since: time.Date(2026, 3, 4, 9, 0, 0, 1, time.UTC),
	}, func(e wire.LogEntry) error {
		got = append(got, e.Text)
		return nil
	})
	if err != nil || len(got) != 1 || got[0] != "hello\nworld" {
		t.Errorf("%q, %v", got, err)
	}
	want := "/v1/apps/shop/logs?follow=true&member=main&member=cache&service=web&since=2026-03-04T09%3A00%3A00.000000001Z&tail=5"
	if query.Load() != want {
		t.Errorf("asked %v", query.Load())
	}
}

func TestTheReceiversErrorEndsTheLogs(t *testing.T) {
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		send(w, "", wire.EventLog, wire.LogEntry{})
		<-r.Context().Done()
	})
	full := errors.New("full")
	if err := c.Logs(t.Context(), wire.LogQuery{App: "shop", Follow: true}, func(wire.LogEntry) error { return full }); !errors.Is(err, full) {
		t.Errorf("ended with %v", err)
	}
}

func TestALineTooLongEndsTheStream(t *testing.T) {
	c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		send(w, "", wire.EventDone, wire.Attempt{App: strings.Repeat("x", 2<<20)})
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.FollowAttempt(ctx, 1, 0, client.Follower{}); err == nil {
		t.Error("accepted")
	}
}
