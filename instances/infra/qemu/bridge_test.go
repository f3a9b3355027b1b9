package qemu_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
	"github.com/berth-cloud/berth/instances/infra/qemu"
)

func TestAMachineOnABridgeHasAPortThatGoesWithIt(t *testing.T) {
	ip, err := exec.LookPath("ip")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("a bridge needs root and iproute2: %v", err)
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skipf("a port of a bridge needs it: %v", err)
	}
	bridge := fmt.Sprintf("bq-t%d", time.Now().UnixNano()%1e9)
	b := newBench(t, func(c *qemu.Config) {
		c.Networks = map[string]qemu.Network{"lan": {Bridge: bridge}, "none": {Bridge: bridge + "x"}}
	})
	ctx := hostdirtest.Patient(t)
	if said, err := exec.CommandContext(ctx, ip, "link", "add", bridge, "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("no bridge can be made here: %v: %s", err, said)
	}
	t.Cleanup(func() {
		if err := exec.CommandContext(context.WithoutCancel(ctx), ip, "link", "delete", bridge).Run(); err != nil {
			t.Error(err)
		}
	})
	p := b.open(owner)
	req, made := b.create(ctx, p, func(r *infra.CreateInstanceRequest) { r.SubnetID = "lan" })
	port := qemu.Port(made.ProviderInstanceID)
	link, err := os.Readlink("/sys/class/net/" + port + "/master")
	if err != nil || !strings.HasSuffix(link, "/"+bridge) {
		t.Errorf("the port %s is on %q, %v", port, link, err)
	}
	if err := p.KillMachine(ctx, req.InstanceID); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/sys/class/net/" + port); err == nil {
		t.Error("the port outlives its machine")
	}
	b.gone(ctx, p, req.InstanceID)
	req = request("")
	req.SubnetID = "none"
	if _, err := p.CreateInstance(ctx, req); err == nil || !strings.Contains(err.Error(), bridge+"x") {
		t.Errorf("a machine on a bridge that is not there: %v", err)
	}
}
