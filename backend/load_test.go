package backend_test

import (
	"encoding/json"
	"testing"

	"github.com/berth-cloud/berth/backend"
)

func TestTheShareOfCPUNeedsACapacity(t *testing.T) {
	for name, c := range map[string]struct {
		body  string // of GET /stats
		ratio float64
		ok    bool
	}{
		"half":              {`{"total_cpu_cores":8,"allocated_cpu_cores":4,"active_containers":3}`, 0.5, true},
		"nothing allocated": {`{"total_cpu_cores":8}`, 0, true},
		"more than all":     {`{"total_cpu_cores":8,"allocated_cpu_cores":10}`, 1.25, true},
		"no capacity":       {`{"allocated_cpu_cores":4}`, 0, false},
		"a capacity below":  {`{"total_cpu_cores":-8,"allocated_cpu_cores":4}`, 0, false},
		"no snapshot":       {`null`, 0, false},
		"fields of others":  {`{"total_cpu_cores":2,"allocated_cpu_cores":1,"total_memory_mb":7,"available_cpu_cores":1}`, 0.5, true},
	} {
		var stats *backend.LoadStats
		if err := json.Unmarshal([]byte(c.body), &stats); err != nil {
			t.Fatal(err)
		}
		if ratio, ok := stats.CPUAllocatedRatio(); ratio != c.ratio || ok != c.ok {
			t.Errorf("%s: %v, %v; want %v, %v", name, ratio, ok, c.ratio, c.ok)
		}
	}
}
