package control

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// fakeNodes note what they are to use, and can refuse it.
type fakeNodes struct {
	steps []string
	used  []int64
	fail  error
}

func (n *fakeNodes) Use(c table.Cluster, save func() error) (string, error) {
	if n.fail != nil {
		return "", n.fail
	}
	if err := save(); err != nil {
		return "", err
	}
	n.steps = append(n.steps, "use")
	n.used = append(n.used, c.Version)
	return "10.0.0.1:7443", nil
}

func (n *fakeNodes) Report() *table.ClusterReport {
	if len(n.used) == 0 {
		return nil
	}
	return &table.ClusterReport{Version: n.used[len(n.used)-1], Nodes: []table.NodeReport{{ID: "one"}}}
}

type clusterDisk struct {
	nodes *fakeNodes
	fail  error
}

func (d *clusterDisk) SaveCluster(table.Cluster) error {
	if d.fail == nil {
		d.nodes.steps = append(d.nodes.steps, "save")
	}
	return d.fail
}

func clusterOf(version int64, listen string) table.Cluster {
	return table.Cluster{
		Protocol: table.Protocol, Version: version, Listen: listen,
		Certificate: "c", Key: table.NewPrivateKey("canary-key"), Roots: "r",
	}
}

func TestAClusterIsSavedBeforeItIsUsedAndNeverAnOlderOne(t *testing.T) {
	p, _ := newPlane(t, newMemory(), "boot")
	n := &fakeNodes{}
	d := &clusterDisk{nodes: n}
	stored := clusterOf(3, ":1")
	p.WithNodes(n, d, &stored)
	if p.Report().Cluster != nil {
		t.Error("there is a report of a cluster that is not in use")
	}
	for name, c := range map[string]struct {
		push table.Cluster
		is   error
	}{
		"an older one":                {clusterOf(2, ":1"), table.ErrOldVersion},
		"other content, same version": {clusterOf(3, ":2"), table.ErrSameVersion},
		"nonsense":                    {clusterOf(4, "nowhere"), table.ErrInvalid},
		"another protocol":            {table.Cluster{Protocol: 9, Version: 9}, table.ErrProtocol},
	} {
		if _, err := p.PushCluster(c.push); !errors.Is(err, c.is) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, want %v", name, err, c.is)
		}
	}
	full, taken := errors.New("disk full"), errors.New("address taken")
	d.fail = full
	if _, err := p.PushCluster(clusterOf(4, ":1")); !errors.Is(err, full) {
		t.Errorf("not saved: %v", err)
	}
	d.fail, n.fail = nil, taken
	if _, err := p.PushCluster(clusterOf(4, ":1")); !errors.Is(err, taken) {
		t.Errorf("not used: %v", err)
	}
	n.fail = nil
	// What was refused last has no hold on its version.
	for _, c := range []table.Cluster{clusterOf(3, ":1"), clusterOf(4, ":2"), clusterOf(4, ":2"), clusterOf(5, "")} {
		ack, err := p.PushCluster(c)
		if err != nil || ack.Version != c.Version || ack.Epoch != "epoch-1" || ack.Address == "" {
			t.Errorf("version %d: %+v, %v", c.Version, ack, err)
		}
	}
	if !slices.Equal(n.used, []int64{3, 4, 4, 5}) || !slices.Equal(n.steps, []string{"save", "use", "save", "use", "save", "use", "save", "use"}) {
		t.Errorf("used %v, in the order %v", n.used, n.steps)
	}
	if c := p.Report().Cluster; c.Version != 5 || len(c.Nodes) != 1 {
		t.Errorf("the report says %+v", c)
	}
	p.freeze()
	if _, err := p.PushCluster(clusterOf(6, ":1")); !errors.Is(err, errHandingOver) {
		t.Errorf("while handing over: %v", err)
	}
}

func TestAClusterOverTheSocketIsTakenOrRefusedWithWhy(t *testing.T) {
	c, p, _ := serveControl(t, nil)
	if _, err := c.PushCluster(t.Context(), clusterOf(1, ":1")); err == nil || !strings.Contains(err.Error(), "reaches no nodes") {
		t.Errorf("without nodes: %v", err)
	}
	n := &fakeNodes{}
	p.WithNodes(n, &clusterDisk{nodes: n}, nil)
	if ack, err := c.PushCluster(t.Context(), clusterOf(2, ":1")); err != nil || ack.Version != 2 || ack.Address != "10.0.0.1:7443" {
		t.Errorf("%+v, %v", ack, err)
	}
	if _, err := c.PushCluster(t.Context(), clusterOf(1, ":1")); !errors.Is(err, table.ErrOldVersion) {
		t.Errorf("an older one: %v", err)
	}
	big := clusterOf(3, ":1")
	big.Roots = strings.Repeat("x", table.MaxClusterBytes)
	if _, err := c.PushCluster(t.Context(), big); err == nil {
		t.Error("one that is too large is taken")
	}
}
