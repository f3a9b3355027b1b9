// Command backend is the smallest holder of leases: it has a backend provision one,
// waits for the callback, prints how the lease is reached and gives it up again:
//
//	go run ./examples/backend --url http://127.0.0.1:9001 --secret-file backend.secret \
//	    --sku a1b2c3d4-e5f6-7890-abcd-1234567890ab --image docker.io/library/nginx:1.29 --port 80
//
// With --hold it keeps the lease until Ctrl-C, --domain asks for a custom domain, and
// --restore begins with the data that another lease of the tenant left. A lease that fails,
// or does not come up before Ctrl-C, is given up too: no lease outlives the program. The
// backend has to be let to send callbacks to this machine: egress: {allow_loopback: true}.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/berth-cloud/berth/backend"
)

// options are what the command line says.
type options struct {
	url, secretFile, sku, image, tenant string
	domain, restore                     string
	port, quantity                      int
	hold                                bool
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", "http://127.0.0.1:9001", "where the backend listens")
	flag.StringVar(&o.secretFile, "secret-file", "backend.secret", "file with the secret that the backend has too")
	flag.StringVar(&o.sku, "sku", "", "SKU of the lease, as the backend's settings have it")
	flag.StringVar(&o.image, "image", "", "image that the lease runs")
	flag.IntVar(&o.port, "port", 80, "port that the image listens on")
	flag.IntVar(&o.quantity, "quantity", 1, "how many of the SKU")
	flag.StringVar(&o.tenant, "tenant", "acme", "who holds the lease")
	flag.StringVar(&o.domain, "domain", "", "custom domain that the lease is to have")
	flag.StringVar(&o.restore, "restore", "", "UUID of a lease whose data and manifest the new one gets")
	flag.BoolVar(&o.hold, "hold", false, "keep the lease until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "backend:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	if o.sku == "" || (o.image == "") == (o.restore == "") {
		return errors.New("a SKU is needed, and an image or a lease to restore: see --help")
	}
	text, err := os.ReadFile(o.secretFile)
	if err != nil {
		return err
	}
	secret := strings.TrimSpace(string(text))
	l, err := newLedger(ctx, secret, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	client := backend.NewHTTPClient(backend.HTTPClientConfig{Name: "backend-1", BaseURL: o.url, Secret: secret, Timeout: 10 * time.Second})
	defer client.Close()

	lease := uuid.NewString()
	if err := begin(ctx, client, l, lease, o); err != nil {
		return explained(err)
	}
	// Whatever comes of it: a ledger that does not give a lease up pays for it.
	defer func() { err = errors.Join(err, giveUp(ctx, client, l, lease)) }()
	if err := l.up(ctx, lease); err != nil {
		return err
	}
	if err := show(ctx, client, l, lease, o); err != nil {
		return err
	}
	if o.hold {
		fmt.Fprintln(out, "Ctrl-C gives the lease up")
		<-ctx.Done()
	}
	return nil
}

// giveUp ends a lease and waits until it is gone. It has a time of its own, as it has to
// happen after an interrupt too.
func giveUp(ctx context.Context, client *backend.HTTPClient, l *ledger, lease string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	fmt.Fprintln(l.out, "deprovision", lease)
	l.forget(lease) // that it failed is no news
	if err := client.Deprovision(ctx, lease); err != nil {
		return fmt.Errorf("lease %s is left behind: %w", lease, err)
	}
	return l.await(ctx, lease, backend.CallbackStatusDeprovisioned)
}

// explained says what to do about a refusal.
func explained(err error) error {
	switch {
	case errors.Is(err, backend.ErrInsufficientResources):
		return fmt.Errorf("there is no room here; a ledger would ask another backend: %w", err)
	case strings.Contains(err.Error(), "the status is 401"):
		return fmt.Errorf("the backend does not take our signature: --secret-file has to be the file that its settings call secret_file, and the clocks of both sides have to agree: %w", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody listens there: start `berthd backend`, or name its address with --url: %w", err)
	}
	return err
}

// begin asks for a lease.
func begin(ctx context.Context, client *backend.HTTPClient, l *ledger, lease string, o options) error {
	items := []backend.LeaseItem{{SKU: o.sku, Quantity: o.quantity, CustomDomain: o.domain}}
	if o.restore == "" {
		return provision(ctx, client, l, lease, items, o)
	}
	fmt.Fprintln(l.out, "restore", lease, "from", o.restore)
	return client.Restore(ctx, backend.RestoreRequest{
		LeaseUUID: lease, FromLeaseUUID: o.restore, Tenant: o.tenant, CallbackURL: l.url, Items: items,
	})
}

// up waits until a callback says that a lease is ready.
func (l *ledger) up(ctx context.Context, lease string) error {
	ctx, cancel := context.WithTimeout(ctx, 11*time.Minute) // a backend gives up by itself before
	defer cancel()
	return l.await(ctx, lease, backend.CallbackStatusSuccess)
}

func provision(ctx context.Context, client *backend.HTTPClient, l *ledger, lease string, items []backend.LeaseItem, o options) error {
	manifest, err := json.Marshal(map[string]any{
		"image": o.image, "ports": map[string]any{fmt.Sprintf("%d/tcp", o.port): map[string]any{}},
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(l.out, "provision", lease)
	return client.Provision(ctx, backend.ProvisionRequest{
		LeaseUUID: lease, Tenant: o.tenant, ProviderUUID: uuid.NewString(), CallbackURL: l.url, Items: items, Payload: manifest,
	})
}

// show prints how a lease is reached, by name and by port, and asks its ports.
func show(ctx context.Context, client *backend.HTTPClient, l *ledger, lease string, o options) error {
	info, err := client.GetInfo(ctx, lease)
	if err != nil {
		return err
	}
	for name, service := range info.Services {
		for _, one := range service.Instances {
			called := "is called " + one.FQDN
			if one.FQDN == "" {
				called = "has no name: the backend has no ingress, or the service no port of TCP"
			}
			fmt.Fprintf(l.out, "  %s/%d %s\n", name, one.InstanceIndex, called)
			for port, at := range one.Ports {
				url := "http://" + at.HostIP + ":" + at.HostPort + "/"
				fmt.Fprintf(l.out, "  %s/%d %s: %s is at %s, which answers %s\n", name, one.InstanceIndex, one.Status, port, url, answer(ctx, url))
			}
		}
	}
	if o.domain != "" {
		fmt.Fprintf(l.out, "  %s is asked for; `berth backend show %s` says how far that is\n", o.domain, lease)
	}
	return nil
}

// answer is the status of a URL, or why there is none.
func answer(ctx context.Context, url string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	_ = resp.Body.Close()
	return resp.Status
}
