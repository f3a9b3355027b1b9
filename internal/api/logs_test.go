package api_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// askedLogs hands on what it is asked for.
type askedLogs chan wire.LogQuery

func (l askedLogs) Logs(_ context.Context, q wire.LogQuery, _ func(wire.LogEntry) error) error {
	l <- q
	return nil
}

func TestLogsAreAskedForAsTheRequestSays(t *testing.T) {
	asked := make(askedLogs, 1)
	d := start(t, func(deps *api.Deps) { deps.Logs = asked })
	apply(t, d, web+"    sidecars: {cache: {image: 'a/cache:1'}}\n  worker: {image: 'a/worker:1'}\n")
	c := client.New(d.Socket)
	defer c.Close()
	for name, q := range map[string]wire.LogQuery{
		"all":                     {},
		"of a service":            {Service: "web", Tail: 2},
		"main of all services":    {Members: []string{"main"}},
		"main by another name":    {Members: []string{"worker"}},
		"a sidecar, from the end": {Members: []string{"cache"}, Tail: 3, Since: apitest.Epoch.Add(4 * time.Second)},
		"two, followed":           {Service: "web", Members: []string{"cache", "main"}, Follow: true},
	} {
		t.Run(name, func(t *testing.T) {
			q.App = "shop"
			if err := c.Logs(t.Context(), q, func(wire.LogEntry) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if got := <-asked; !reflect.DeepEqual(got, q) {
				t.Errorf("asked for %+v, want %+v", got, q)
			}
		})
	}
}
