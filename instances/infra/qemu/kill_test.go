package qemu_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/qemu"
)

// createMain makes one machine, with the settings and the instance id that it is given.
func createMain(settings, instanceID string) int {
	var o map[string]any
	err := json.Unmarshal([]byte(settings), &o)
	if err == nil {
		var p infra.Provider
		if p, err = qemu.Open(context.Background(), infra.Options{Owner: owner, Settings: o}); err == nil {
			req := request("")
			req.InstanceID = instanceID
			_, err = p.CreateInstance(context.Background(), req)
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Killed at any moment, also between a fork and what it was for, and not at those between
// effects alone. The machine must outlive whoever made it, as one that was not killed does.
func TestAProviderThatIsKilledWhileItMakesAMachineLeavesOneOrNone(t *testing.T) {
	b := newBench(t)
	ctx := patient(t)
	settings, err := json.Marshal(map[string]any{
		"dir": b.config.Dir, "images": b.config.Images, "types": b.config.Types, "stop_grace": b.config.StopGrace.String(),
	})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	left := map[infra.Status]int{}
	p := b.open(owner)
	for round := range 16 {
		req := request("")
		made := exec.CommandContext(ctx, self, createCommand, string(settings), req.InstanceID)
		if err := made.Start(); err != nil {
			t.Fatal(err)
		}
		// Its whole way takes about as long as the last of these.
		timer := time.AfterFunc(time.Duration(round)*12*time.Millisecond, func() { _ = made.Process.Kill() })
		err := made.Wait()
		timer.Stop()
		inst, statusErr := p.GetInstanceStatus(ctx, req.InstanceID, "")
		switch {
		case infra.IsNotFound(statusErr):
			left["none"]++
		case statusErr != nil:
			t.Fatal(statusErr)
		default:
			left[inst.Status]++
		}
		if err == nil && inst.Status != infra.StatusRunning {
			t.Errorf("a machine that is made is %s", inst.Status)
		}
		if round%2 == 0 {
			if _, err := p.CreateInstance(ctx, req); err != nil {
				t.Fatalf("create after a kill in round %d: %v", round, err)
			}
			b.becomes(ctx, p, req.InstanceID, infra.StatusRunning)
			if n := b.count(req.InstanceID); n != 1 {
				t.Errorf("%d machines after a kill in round %d", n, round)
			}
		}
		b.gone(ctx, p, req.InstanceID)
	}
	t.Logf("after the kill they were %v", left)
}
