package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// streamOf opens the event stream of an attempt and returns its lines.
func streamOf(t *testing.T, d *apitest.Daemon, attempt int64, lastEvent string) *bufio.Scanner {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://berth/v1/attempts/"+strconv.FormatInt(attempt, 10)+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastEvent != "" {
		req.Header.Set("Last-Event-ID", lastEvent)
	}
	resp, err := overSocket(d.Socket).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	return bufio.NewScanner(resp.Body)
}

// fields are the values of one field in a stream that ends.
func fields(t *testing.T, lines *bufio.Scanner, name string) []string {
	t.Helper()
	var out []string
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+": "); ok {
			out = append(out, value)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAStreamIsTakenUpAfterTheLastEventSeen(t *testing.T) {
	d := start(t, nil)
	done := apply(t, d, web)
	all := fields(t, streamOf(t, d, done.ID, ""), "id")
	if len(all) != 7 {
		t.Fatalf("ids %v", all)
	}
	rest := fields(t, streamOf(t, d, done.ID, all[3]), "id")
	if strings.Join(rest, " ") != strings.Join(all[4:], " ") {
		t.Errorf("after %s came %v of %v", all[3], rest, all)
	}
	names := fields(t, streamOf(t, d, done.ID, all[6]), "event")
	if strings.Join(names, " ") != wire.EventDone {
		t.Errorf("after the last event came %v", names)
	}
}

func TestAStreamIsWokenByTheStoreAndNotByItsHeartbeat(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.Heartbeat = time.Hour })
	d.Paper.Set("shop-web", apitest.Outcome{Hold: true})
	held := applied(t, d, wire.ApplyRequest{Source: web})
	lines := streamOf(t, d, held.Attempt.ID, "")
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: "+wire.EventAttempt) {
	}
	// The stream has told the state and sleeps now.
	d.Paper.Set("shop-web", apitest.Outcome{})
	if names := fields(t, lines, "event"); len(names) == 0 || names[len(names)-1] != wire.EventDone {
		t.Errorf("events %v", names)
	}
}

func TestASilentStreamShowsThatItLives(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.Heartbeat = time.Millisecond })
	d.Paper.Set("shop-web", apitest.Outcome{Hold: true})
	held := applied(t, d, wire.ApplyRequest{Source: web})
	lines := streamOf(t, d, held.Attempt.ID, "")
	for beats := 0; beats < 3; {
		if !lines.Scan() {
			t.Fatalf("the stream ended: %v", lines.Err())
		}
		if lines.Text() == ":" {
			beats++
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.MaxStreams = 2 })
	d.Paper.Set("shop-web", apitest.Outcome{Hold: true})
	held := applied(t, d, wire.ApplyRequest{Source: web})
	for range 2 {
		streamOf(t, d, held.Attempt.ID, "")
	}
	resp, err := overSocket(d.Socket).Get("http://berth/v1/attempts/1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), string(wire.ProblemBusy)) {
		t.Errorf("the third: %d %s", resp.StatusCode, body)
	}
}

func TestStreamsEndWithTheDaemon(t *testing.T) {
	d, err := apitest.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	d.Paper.Set("shop-web", apitest.Outcome{Hold: true})
	held := applied(t, d, wire.ApplyRequest{Source: web})
	lines := streamOf(t, d, held.Attempt.ID, "")
	lines.Scan()
	began := time.Now()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("closing took %s", took)
	}
	for lines.Scan() {
	}
}

// brokenLogs ends with an error after a line.
type brokenLogs struct{}

func (brokenLogs) Logs(_ context.Context, q wire.LogQuery, fn func(wire.LogEntry) error) error {
	if err := fn(wire.LogEntry{Time: apitest.Epoch, Service: "web", Text: "since " + q.Since.Format(time.RFC3339Nano)}); err != nil {
		return err
	}
	return errors.New("the engine went away: secret detail")
}

func TestLogsOfAnEngineThatIsAwaySayThat(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.Logs = awayLogs{} })
	apply(t, d, web)
	c := client.New(d.Socket)
	defer c.Close()
	err := c.Logs(t.Context(), wire.LogQuery{App: "shop"}, func(wire.LogEntry) error { return nil })
	if !client.IsProblem(err, wire.ProblemBusy) || !strings.Contains(err.Error(), "container engine does not answer") {
		t.Errorf("ended with %v", err)
	}
}

// awayLogs is a source whose engine is not there.
type awayLogs struct{}

func (awayLogs) Logs(context.Context, wire.LogQuery, func(wire.LogEntry) error) error {
	return fmt.Errorf("list containers: %w", docker.ErrUnavailable)
}

func TestABrokenLogStreamSaysSoAndNotWhy(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.Logs = brokenLogs{} })
	apply(t, d, web)
	c := client.New(d.Socket)
	defer c.Close()
	var got []string
	since := apitest.Epoch.Add(123456789)
	err := c.Logs(t.Context(), wire.LogQuery{App: "shop", Since: since}, func(e wire.LogEntry) error {
		got = append(got, e.Text)
		return nil
	})
	if !client.IsProblem(err, wire.ProblemInternal) || strings.Contains(err.Error(), "secret") {
		t.Errorf("ended with %v", err)
	}
	if len(got) != 1 || got[0] != "since "+since.Format(time.RFC3339Nano) {
		t.Errorf("lines %q", got)
	}
}

func TestTheSocketTellsWhoCalls(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.AdminUID = os.Getuid() + 1 })
	c := client.New(d.Socket)
	defer c.Close()
	_, err := c.Apps(t.Context())
	if mayAlways := os.Getuid() == 0; mayAlways != (err == nil) {
		t.Errorf("user %d: %v", os.Getuid(), err)
	}
}
