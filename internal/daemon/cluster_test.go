package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/ca"
	isecrets "github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/secrets"
)

// planeDesk is what credentials of a data plane are made of, in a test's hands.
type planeDesk struct {
	*testing.T
	o         planeOptions
	now       time.Time
	denied    []string // in the bucket
	deniedErr error
	heard     []string
}

func (d *planeDesk) RefreshDenied(context.Context) error {
	if d.deniedErr == nil {
		d.heard = d.denied
	}
	return d.deniedErr
}

func (d *planeDesk) DeniedSerials() []string { return d.heard }

// deny is what a manager does that hears of it.
func (d *planeDesk) deny(serials ...string) { d.denied, d.heard = serials, serials }

func newPlaneDesk(t *testing.T) *planeDesk {
	t.Helper()
	d := &planeDesk{T: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	sealed := isecrets.NewMemory()
	authority, err := ca.Open(t.Context(), ca.Options{Storage: storage.NewMemory(), Secrets: sealed, ClusterID: "test", Now: d.clock})
	if err != nil {
		t.Fatal(err)
	}
	d.o = planeOptions{
		Server: "host-1", Address: "10.0.0.1:7443", Authority: authority, Secrets: sealed, Now: d.clock, Denials: d,
	}
	return d
}

func (d *planeDesk) clock() time.Time { return d.now }

func (d *planeDesk) cluster(p *planeCredentials) table.Cluster {
	d.Helper()
	c, err := p.Cluster(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		d.Fatalf("the data plane would refuse it: %v", err)
	}
	return c
}

func TestTheDataPlanesCertificateIsOneThatAgentsTake(t *testing.T) {
	d := newPlaneDesk(t)
	c := d.cluster(newPlaneCredentials(d.o))
	pair, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(c.Roots))
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "10.0.0.1", CurrentTime: d.now}); err != nil {
		t.Error(err)
	}
	if id, err := wire.Identify(pair.Leaf); err != nil || id.Role != wire.RoleIngress || id.InstanceID != "host-1" {
		t.Errorf("it names %+v, %v", id, err)
	}
	if c.Version != 1 || c.Listen != "10.0.0.1:7443" {
		t.Errorf("version %d at %s", c.Version, c.Listen)
	}
}

func TestAChangeOfTheCredentialsHasAHigherVersionAndNothingElseHas(t *testing.T) {
	d := newPlaneDesk(t)
	p := newPlaneCredentials(d.o)
	last := d.cluster(p)
	step := func(what string, changed, renewed bool) {
		t.Helper()
		c := d.cluster(p)
		if (c.Version > last.Version) != changed || c.Version < last.Version {
			t.Errorf("%s: version %d after %d", what, c.Version, last.Version)
		}
		if (c.Certificate != last.Certificate) != renewed || c.Key.Equal(last.Key) == renewed {
			t.Errorf("%s: renewed %t, want %t", what, !renewed, renewed)
		}
		last = c
	}
	step("nothing", false, false)
	d.now = d.now.Add(15 * time.Hour)
	step("before two thirds of its life", false, false)
	d.now = d.now.Add(2 * time.Hour)
	step("after two thirds of its life", true, true)
	d.deny("0a")
	step("a certificate is denied", true, false)
	if !slices.Equal(last.Denied, d.denied) {
		t.Errorf("denied: %v", last.Denied)
	}
	step("it is denied still", false, false)
	d.deny()
	step("it is denied no more", true, false)
	if err := d.o.Authority.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	step("there is another authority", true, false)
	p = newPlaneCredentials(d.o)
	step("another process", false, false)
	d.denied, d.heard = []string{"0b"}, nil
	p = newPlaneCredentials(d.o)
	step("denied while there was no process", true, false)
	d.o.Address = "10.0.0.2:7443"
	p = newPlaneCredentials(d.o)
	step("another address", true, true)
	d.now = d.now.Add(100 * 24 * time.Hour)
	p = newPlaneCredentials(d.o)
	step("after a long time", true, true)
}

func TestTheDataPlanesVersionCanBeExceeded(t *testing.T) {
	d := newPlaneDesk(t)
	p := newPlaneCredentials(d.o)
	d.cluster(p)
	c, err := p.Above(t.Context(), 41)
	if err != nil || c.Version != 42 {
		t.Errorf("version %d, %v", c.Version, err)
	}
	if c := d.cluster(newPlaneCredentials(d.o)); c.Version != 42 {
		t.Errorf("another process gives out version %d", c.Version)
	}
}

func TestADataPlaneOfANameListensOnItsPort(t *testing.T) {
	d := newPlaneDesk(t)
	d.o.Address = "berth.example.com:7443"
	if c := d.cluster(newPlaneCredentials(d.o)); c.Listen != ":7443" {
		t.Errorf("it listens at %s", c.Listen)
	}
	d.o.Address = "nonsense"
	if _, err := newPlaneCredentials(d.o).Cluster(t.Context()); err == nil {
		t.Error("an address without a port is taken")
	}
}

// What is not known is not given out: no list of denials is not an empty one.
func TestWhatCannotBeReadIsNotGivenOut(t *testing.T) {
	d := newPlaneDesk(t)
	d.deniedErr = errors.New("the bucket is away")
	p := newPlaneCredentials(d.o)
	if _, err := p.Cluster(t.Context()); !errors.Is(err, d.deniedErr) {
		t.Errorf("without the denials: %v", err)
	}
	d.deniedErr = nil
	d.cluster(p)
	if err := d.o.Secrets.Set(t.Context(), p.secretName(), secrets.NewSecretString("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := newPlaneCredentials(d.o).Cluster(t.Context()); err == nil {
		t.Error("a secret that is not readable is taken for none")
	}
}
