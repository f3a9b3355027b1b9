package ingress

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// ClusterKey is the key of the controller that has the data plane take the agents of nodes.
var ClusterKey = reconcile.Key{Kind: Key.Kind, Name: "cluster"}

// Credentials say how the data plane is to take agents. A change has a higher version.
type Credentials interface {
	Cluster(ctx context.Context) (table.Cluster, error)
}

// Raiser is implemented by Credentials that can go above a version that they have not
// given out themselves: the data plane outlives what the control plane keeps, as when that
// is restored from an older copy.
type Raiser interface {
	Above(ctx context.Context, version int64) (table.Cluster, error)
}

// ClusterPlane is the data plane as this controller reaches it.
type ClusterPlane interface {
	PushCluster(ctx context.Context, c table.Cluster) (table.ClusterAck, error)
}

// ClusterPusher keeps the data plane's cluster equal to the credentials; it is shared by
// all runs of the controller.
type ClusterPusher struct {
	Credentials Credentials
	Plane       ClusterPlane
	Link        *Link
	Now         func() time.Time // nil is the machine's clock

	mu     sync.Mutex
	pushed taken // with the last acknowledged push
}

type taken struct {
	epoch   string
	version int64
}

// Reasons of the cluster's condition, besides those of the routes.
const (
	ReasonCredentialsUnreadable = "CredentialsUnreadable"
	ReasonClusterRefused        = "ClusterRefused"
)

// clusterEvery is how often the credentials are looked at when nobody says that they
// changed: other servers deny certificates and replace authorities.
const clusterEvery = time.Minute

// ClusterController is one run.
type ClusterController struct{ p *ClusterPusher }

var _ reconcile.Controller = ClusterController{}

// Controller builds the controller of one run.
func (p *ClusterPusher) Controller() ClusterController { return ClusterController{p} }

// Name is "ingress/cluster".
func (ClusterController) Name() string { return ClusterKey.String() }

// Reconcile pushes the cluster if the data plane does not have it. It comes again when the
// certificate is to be renewed.
func (c ClusterController) Reconcile(ctx context.Context) (reconcile.Result, error) {
	p := c.p
	want, err := p.Credentials.Cluster(ctx)
	if err != nil {
		return verdict(reconcile.Unknown, ReasonCredentialsUnreadable, err.Error()), fmt.Errorf("read how the data plane takes agents: %w", err)
	}
	epoch, report, known := p.Link.Cluster()
	if !known {
		// The link pushes again as soon as a data plane answers.
		return verdict(reconcile.False, ReasonUnreachable, "the data plane does not answer"), nil
	}
	if p.has(epoch, want, report) {
		return p.inSync(want, report), nil
	}
	if err := p.push(ctx, want); err != nil {
		reason := ReasonClusterRefused
		if errors.Is(err, table.ErrOldVersion) || errors.Is(err, table.ErrSameVersion) {
			reason = ReasonOlderStore
		}
		return verdict(reconcile.False, reason, err.Error()), err
	}
	_, report, _ = p.Link.Cluster()
	return p.inSync(want, report), nil
}

// push has the data plane take a cluster, and one with a higher version when it has a
// newer one already, or another of the same version.
func (p *ClusterPusher) push(ctx context.Context, want table.Cluster) error {
	ack, err := p.Plane.PushCluster(ctx, want)
	raiser, can := p.Credentials.(Raiser)
	_, report, _ := p.Link.Cluster()
	if can && report != nil && (errors.Is(err, table.ErrOldVersion) || errors.Is(err, table.ErrSameVersion)) {
		if want, err = raiser.Above(ctx, max(report.Version, want.Version)); err != nil {
			return fmt.Errorf("go above the data plane's version: %w", err)
		}
		ack, err = p.Plane.PushCluster(ctx, want)
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pushed = taken{ack.Epoch, ack.Version}
	return nil
}

func (p *ClusterPusher) has(epoch string, want table.Cluster, report *table.ClusterReport) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pushed == taken{epoch, want.Version} && (report == nil || report.Error == "")
}

func (p *ClusterPusher) inSync(c table.Cluster, report *table.ClusterReport) reconcile.Result {
	message := "the data plane takes no agents"
	if c.Listen != "" {
		nodes := 0
		if report != nil {
			nodes = len(report.Nodes) + report.More
		}
		message = fmt.Sprintf("the data plane takes agents at %s; %d are connected", c.Listen, nodes)
	}
	r := verdict(reconcile.True, ReasonInSync, message)
	r.RequeueAfter = clusterEvery
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	if due, ok := renewal(c.Certificate); ok {
		r.RequeueAfter = min(max(due.Sub(now()), time.Second), clusterEvery)
	}
	return r
}

// renewal is when two thirds of a certificate's life are over.
func renewal(certificate string) (time.Time, bool) {
	block, _ := pem.Decode([]byte(certificate))
	if block == nil {
		return time.Time{}, false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, false
	}
	return cert.NotBefore.Add(cert.NotAfter.Sub(cert.NotBefore) * 2 / 3), true
}
