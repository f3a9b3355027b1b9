package api_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// groupLogs is one line per second, by turns of the main container of web, of its
// sidecar cache, and of worker. It goes on with one of each while it is followed.
type groupLogs struct{}

func (groupLogs) Logs(_ context.Context, q wire.LogQuery, fn func(wire.LogEntry) error) error {
	lines := 9
	if q.Follow {
		lines += 3
	}
	var all []wire.LogEntry
	for i := range lines {
		e := wire.LogEntry{Time: apitest.Epoch.Add(time.Duration(i) * time.Second), Service: "web", Text: fmt.Sprint(i)}
		switch i % 3 {
		case 1:
			e.Member = "cache"
		case 2:
			e.Service = "worker"
		}
		if (q.Service == "" || q.Service == e.Service) && !e.Time.Before(q.Since) {
			all = append(all, e)
		}
	}
	if q.Tail > 0 {
		all = all[max(0, len(all)-q.Tail):]
	}
	for _, e := range all {
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

func TestLogsAreThoseOfTheMembersNamed(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.Logs = groupLogs{} })
	apply(t, d, web+"    sidecars: {cache: {image: 'a/cache:1'}}\n  worker: {image: 'a/worker:1'}\n")
	c := client.New(d.Socket)
	defer c.Close()
	for name, want := range map[string]struct {
		q    wire.LogQuery
		text []string
	}{
		"none named":                    {wire.LogQuery{Tail: 2}, []string{"7", "8"}},
		"main of all services":          {wire.LogQuery{Members: []string{"main"}}, []string{"0", "2", "3", "5", "6", "8"}},
		"main by its service's name":    {wire.LogQuery{Members: []string{"worker"}}, []string{"2", "5", "8"}},
		"a sidecar":                     {wire.LogQuery{Members: []string{"cache"}}, []string{"1", "4", "7"}},
		"two of them":                   {wire.LogQuery{Service: "web", Members: []string{"cache", "main"}}, []string{"0", "1", "3", "4", "6", "7"}},
		"the tail is theirs":            {wire.LogQuery{Members: []string{"cache"}, Tail: 2}, []string{"4", "7"}},
		"a tail longer than the log":    {wire.LogQuery{Members: []string{"cache"}, Tail: 4}, []string{"1", "4", "7"}},
		"the tail of what is newer":     {wire.LogQuery{Members: []string{"cache"}, Tail: 3, Since: apitest.Epoch.Add(4 * time.Second)}, []string{"4", "7"}},
		"followed from the tail onward": {wire.LogQuery{Members: []string{"cache"}, Tail: 1, Follow: true}, []string{"7", "10"}},
	} {
		t.Run(name, func(t *testing.T) {
			want.q.App = "shop"
			var got []string
			err := c.Logs(t.Context(), want.q, func(e wire.LogEntry) error {
				got = append(got, e.Text)
				return nil
			})
			if err != nil || !slices.Equal(got, want.text) {
				t.Errorf("%q, %v; want %q", got, err, want.text)
			}
		})
	}
}
