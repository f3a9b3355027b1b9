package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func nodeClient(t *testing.T, change func(*api.Deps)) *client.Client {
	t.Helper()
	d := start(t, change)
	apply(t, d, web)
	c := client.New(d.Socket)
	t.Cleanup(c.Close)
	return c
}

// problemOf is the problem document behind an error.
func problemOf(t *testing.T, err error) *wire.Problem {
	t.Helper()
	var p *wire.Problem
	if !errors.As(err, &p) {
		t.Fatalf("no problem document: %v", err)
	}
	return p
}

func TestWithoutMachinesThisOneIsTheOnlyNode(t *testing.T) {
	c := nodeClient(t, nil)
	list, err := c.Nodes(t.Context())
	if err != nil || len(list.Nodes) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	n := list.Nodes[0]
	if n.ID != "local" || n.State != wire.NodeOnline || len(n.Apps) != 1 || n.Apps[0].App != "shop" || n.Apps[0].Stays == "" || n.Containers != 1 {
		t.Errorf("%+v", n)
	}
	checks, err := c.CheckNode(t.Context(), "local")
	if err != nil || checks.Failing() != nil || len(checks.Checks) == 0 || checks.Checks[0].At.IsZero() {
		t.Errorf("%+v, %v", checks, err)
	}
	_, drained := c.DrainNode(t.Context(), "local", 0)
	_, joined := c.JoinNode(t.Context(), wire.JoinRequest{Name: "attic"})
	_, cordoned := c.SetCordon(t.Context(), "local", true)
	_, undrained := c.UndrainNode(t.Context(), "local")
	_, removed := c.RemoveNode(t.Context(), "local")
	for _, err := range []error{drained, joined, cordoned, undrained, removed} {
		if p := problemOf(t, err); p.Type != wire.ProblemNotSupported {
			t.Errorf("%+v", p)
		}
	}
	if _, err := c.Node(t.Context(), "other"); problemOf(t, err).Type != wire.ProblemNotFound {
		t.Error(err)
	}
}

func TestADeadlineOfADrainIsByTheClockOfTheDaemon(t *testing.T) {
	c := nodeClient(t, func(d *api.Deps) { d.Nodes = apitest.NewNodes() })
	plan, err := c.DrainNode(t.Context(), "web06bgm7733st2576nx5jht4ecjw", 90*time.Second)
	if err != nil || !plan.By.Equal(apitest.Epoch.Add(90*time.Second)) || len(plan.Moves) != 2 || len(plan.Stays) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	plan, err = c.DrainNode(t.Context(), "attic", 0)
	if err != nil || !plan.By.IsZero() || plan.Moves == nil || plan.Stays == nil {
		t.Errorf("%+v, %v", plan, err)
	}
}

// refusing is nodes that refuse with an error.
type refusing struct {
	*apitest.Nodes
	err error
}

func (r refusing) SetCordon(context.Context, string, bool) error { return r.err }

func TestWhatNodesRefuseIsSaidAndWhatTheyFailByIsNot(t *testing.T) {
	for _, c := range []struct {
		err    error
		typ    wire.ProblemType
		detail string
	}{
		{fmt.Errorf("%w: it went away", api.ErrNoSuchNode), wire.ProblemNotFound, "it went away"},
		{fmt.Errorf("%w: it is lost", api.ErrNodeRefused), wire.ProblemNotSupported, "it is lost"},
		{fmt.Errorf("%w: attic", api.ErrNodeTaken), wire.ProblemNameTaken, "attic"},
		{fmt.Errorf("%w: the store", api.ErrNodesUnavailable), wire.ProblemBusy, "the store"},
		{errors.New("dial 10.0.0.2:7000: /var/lib/x"), wire.ProblemInternal, ""},
	} {
		cl := nodeClient(t, func(d *api.Deps) { d.Nodes = refusing{apitest.NewNodes(), c.err} })
		_, err := cl.SetCordon(t.Context(), "local", true)
		p := problemOf(t, err)
		if p.Type != c.typ || !strings.Contains(p.Detail, c.detail) || strings.Contains(p.Detail, "/var/lib") {
			t.Errorf("%v: %+v", c.err, p)
		}
	}
}

func TestTheTokenOfAJoinIsInNoLog(t *testing.T) {
	var log bytes.Buffer
	c := nodeClient(t, func(d *api.Deps) {
		d.Nodes = apitest.NewNodes()
		d.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	token, err := c.JoinNode(t.Context(), wire.JoinRequest{Name: "cellar", Labels: map[string]string{"disk": "ssd"}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "a host may join") || strings.Contains(log.String(), token.Token) {
		t.Errorf("the log:\n%s", &log)
	}
}

func TestANameOfANodeIsANameAndNobodyElses(t *testing.T) {
	c := nodeClient(t, func(d *api.Deps) { d.Nodes = apitest.NewNodes() })
	for name, typ := range map[string]wire.ProblemType{
		"":                              wire.ProblemInvalidRequest,
		"Attic":                         wire.ProblemInvalidRequest,
		"a b":                           wire.ProblemInvalidRequest,
		"$(reboot)":                     wire.ProblemInvalidRequest,
		"../x":                          wire.ProblemInvalidRequest,
		strings.Repeat("a", 49):         wire.ProblemInvalidRequest,
		"local":                         wire.ProblemNameTaken,
		"attic":                         wire.ProblemNameTaken,
		"web06bgm7733st2576nx5jht4ecjw": wire.ProblemNameTaken,
	} {
		_, err := c.JoinNode(t.Context(), wire.JoinRequest{Name: name})
		if p := problemOf(t, err); p.Type != typ {
			t.Errorf("%q: %+v", name, p)
		}
	}
}
