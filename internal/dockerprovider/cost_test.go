package dockerprovider

import (
	"io"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/provider"
)

// Every listing is of all containers of the machine, so that one more of them
// is felt where many workloads are.
func TestALookAsksTheEngineForNoMoreThanItShows(t *testing.T) {
	r := newRig(t)
	req := request()
	r.running(req)
	for _, tc := range []struct {
		what string
		look func() error
		want []dockertest.Call
	}{
		{"status", func() error {
			_, err := r.d.Status(t.Context(), req.InstanceID)
			return err
		}, []dockertest.Call{dockertest.CallList, dockertest.CallInspect}},
		{"logs", func() error {
			stream, err := r.d.Logs(t.Context(), req.InstanceID, provider.LogOptions{Tail: 1})
			if err != nil {
				return err
			}
			if _, err = io.ReadAll(stream); err != nil {
				return err
			}
			return stream.Close()
		}, []dockertest.Call{dockertest.CallList, dockertest.CallLogs}},
	} {
		r.engine.ResetCalls()
		r.ok(tc.look())
		var got []dockertest.Call
		for _, c := range r.engine.Calls() {
			got = append(got, c.Call)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.what, got, tc.want)
		}
	}
}
