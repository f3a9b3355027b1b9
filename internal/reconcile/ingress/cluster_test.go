package ingress

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// clusterDesk is a pusher of clusters with everything around it in a test's hands.
type clusterDesk struct {
	*ClusterPusher
	t      *testing.T
	want   table.Cluster
	err    error
	now    time.Time
	pushed []int64
	fail   error // of a push
	have   int64 // the data plane's version
	epoch  string
}

func newClusterDesk(t *testing.T) *clusterDesk {
	d := &clusterDesk{t: t, epoch: "a", now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	d.want = table.Cluster{Protocol: table.Protocol, Version: 1, Listen: ":7443", Certificate: certificate(t, d.now)}
	d.ClusterPusher = &ClusterPusher{Credentials: d, Plane: d, Link: newLink(nil, &heard{}), Now: func() time.Time { return d.now }}
	return d
}

// certificate is one of an hour and a half.
func certificate(t *testing.T, from time.Time) string {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.Add(90 * time.Minute)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, pub, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func (d *clusterDesk) Cluster(context.Context) (table.Cluster, error) { return d.want, d.err }

func (d *clusterDesk) Above(_ context.Context, version int64) (table.Cluster, error) {
	d.want.Version = version + 1
	return d.want, nil
}

func (d *clusterDesk) PushCluster(_ context.Context, c table.Cluster) (table.ClusterAck, error) {
	switch {
	case d.fail != nil:
		return table.ClusterAck{}, d.fail
	case c.Version < d.have:
		return table.ClusterAck{}, fmt.Errorf("%w: in use is %d", table.ErrOldVersion, d.have)
	}
	d.have = c.Version
	d.pushed = append(d.pushed, c.Version)
	return table.ClusterAck{Epoch: d.epoch, Version: c.Version}, nil
}

// report has the data plane say what it has, and who is connected.
func (d *clusterDesk) report(nodes ...string) {
	r := report(d.epoch, 1)
	if d.have > 0 {
		r.Cluster = &table.ClusterReport{Version: d.have}
		for _, n := range nodes {
			r.Cluster.Nodes = append(r.Cluster.Nodes, table.NodeReport{ID: n})
		}
	}
	d.Link.take(r)
}

func (d *clusterDesk) pass(what string, status reconcile.ConditionStatus, reason string, pushed ...int64) reconcile.Result {
	d.t.Helper()
	res, err := d.Controller().Reconcile(d.t.Context())
	if c := res.Conditions[0]; c.Status != status || c.Reason != reason {
		d.t.Errorf("%s: %+v, %v", what, c, err)
	}
	if !slices.Equal(d.pushed, pushed) {
		d.t.Errorf("%s: pushed %v, want %v", what, d.pushed, pushed)
	}
	return res
}

func TestTheClusterIsPushedWhenItOrTheDataPlaneIsAnother(t *testing.T) {
	d := newClusterDesk(t)
	d.pass("nobody answers", reconcile.False, ReasonUnreachable)
	d.report()
	d.pass("a data plane", reconcile.True, ReasonInSync, 1)
	d.report("one", "two")
	res := d.pass("nothing changed", reconcile.True, ReasonInSync, 1)
	if m := res.Conditions[0].Message; !strings.Contains(m, "2 are connected") || !strings.Contains(m, ":7443") {
		t.Errorf("it says %q", m)
	}
	d.want.Version = 2
	d.pass("other credentials", reconcile.True, ReasonInSync, 1, 2)
	d.epoch = "b"
	d.report()
	d.pass("another data plane", reconcile.True, ReasonInSync, 1, 2, 2)
	d.Link.lose()
	d.pass("it is gone", reconcile.False, ReasonUnreachable, 1, 2, 2)
}

func TestAClusterThatIsNotTakenIsPushedAgainAndSaysWhy(t *testing.T) {
	d := newClusterDesk(t)
	d.report()
	d.fail = errors.New("address already in use")
	d.pass("refused", reconcile.False, ReasonClusterRefused)
	d.fail = nil
	d.pass("taken", reconcile.True, ReasonInSync, 1)
	r := report(d.epoch, 1)
	r.Cluster = &table.ClusterReport{Version: 1, Error: "the socket is gone"}
	d.Link.take(r)
	d.pass("it does not listen", reconcile.True, ReasonInSync, 1, 1)
	d.err = errors.New("the bucket is away")
	d.pass("not readable", reconcile.Unknown, ReasonCredentialsUnreadable, 1, 1)
}

// The control plane was brought back from an older copy.
func TestAVersionBelowTheDataPlanesIsRaised(t *testing.T) {
	d := newClusterDesk(t)
	d.have = 7
	d.report()
	d.pass("above it", reconcile.True, ReasonInSync, 8)
	d.ClusterPusher.Credentials = onlyCluster{d}
	d.have, d.epoch = 20, "b"
	d.report()
	d.pass("credentials that cannot", reconcile.False, ReasonOlderStore, 8)
}

type onlyCluster struct{ Credentials }

func TestTheControllerComesAgainWhenTheCertificateIsDue(t *testing.T) {
	d := newClusterDesk(t)
	d.report()
	if res := d.pass("new", reconcile.True, ReasonInSync, 1); res.RequeueAfter != clusterEvery {
		t.Errorf("a new one: in %v", res.RequeueAfter)
	}
	d.now = d.now.Add(time.Hour - 10*time.Second)
	if res := d.pass("nearly due", reconcile.True, ReasonInSync, 1); res.RequeueAfter != 10*time.Second {
		t.Errorf("one that is nearly due: in %v", res.RequeueAfter)
	}
	d.now = d.now.Add(time.Hour)
	if res := d.pass("overdue", reconcile.True, ReasonInSync, 1); res.RequeueAfter != time.Second {
		t.Errorf("one that is overdue: in %v", res.RequeueAfter)
	}
}

func TestANodeIsReachedWhileTheLastReportNamesIt(t *testing.T) {
	d := newClusterDesk(t)
	d.have = 1
	d.report("one")
	d.report("two")
	if d.Link.Reaches("one") || !d.Link.Reaches("two") {
		t.Error("the wrong ones are reached")
	}
	d.Link.lose()
	if d.Link.Reaches("two") {
		t.Error("a node is reached without a data plane")
	}
}
