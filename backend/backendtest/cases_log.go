package backendtest

import (
	"strings"

	"github.com/berth-cloud/berth/backend"
)

var logCases = []Case{
	{Name: "Logs/ByContainer", Needs: []Feature{Logs}, run: func(e *env) {
		id := e.lease()
		req := e.request(id)
		req.Items[0].Quantity = 2
		e.provision(req)
		e.ends(id, success)
		var logs map[string]string
		e.until(func() bool {
			var err error
			logs, err = e.Backend.GetLogs(e.ctx, id, backend.DefaultLogTail)
			e.ok(err, "GetLogs")
			return logs["app/0"] != "" && logs["app/1"] != ""
		})
		if logs["app/0"] == "" || logs["app/1"] == "" || len(logs) != 2 {
			e.Errorf("the logs are %q, want some of app/0 and app/1", logs)
		}
	}},
	{Name: "Logs/Tail", Needs: []Feature{Logs}, run: func(e *env) {
		id := e.ready()
		var one string
		e.until(func() bool {
			logs, err := e.Backend.GetLogs(e.ctx, id, 1)
			e.ok(err, "GetLogs")
			one = logs["app/0"]
			return one != ""
		})
		if one == "" || strings.Count(strings.TrimSuffix(one, "\n"), "\n") > 0 {
			e.Errorf("the last line is %q", one)
		}
	}},
}
