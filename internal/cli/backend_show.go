package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) backendShowCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "show LEASE",
		Short: "Show a lease with its history",
		Long: `Shows all that a backend knows of a lease: what is under way, each service as the
provider has it now, how it is reached, its custom domains and why one is not
served, its volumes and whose they are, its releases with why they failed, and the
callbacks that its holder has not acknowledged. What stands behind "in full" are the
provider's own words, which no tenant is told: they may have paths, addresses and
what a program printed. Of a lease that was given up it is
what is kept: the data that is retained and, for a week, why it failed.`,
		Example: `  berth backend show 018f3c1e-7b2a-7c4d-9e5f-0123456789ab
  berth backend show 018f3c1e -o json`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeLeases,
		RunE: a.onLease(func(ctx context.Context, b *client.Backend, lease string) error {
			l, err := b.Lease(ctx, lease)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(l)
			}
			a.printLease(l)
			return nil
		}),
	}
}

func (a *app) printLease(l wire.BackendLeaseDetail) {
	status := a.leaseStatus(l.BackendLease)
	a.printf("lease %s  %s\n", a.out.bold(inert(l.LeaseUUID)), paint(status))
	line := func(name, text string) { a.printf("  %s  %s\n", a.out.dim(fmt.Sprintf("%-9s", name)), text) }
	line("tenant", dash(inert(l.Tenant)))
	line("provider", dash(inert(l.ProviderUUID)))
	line("created", a.since(l.CreatedAt))
	line("items", itemsOf(l.BackendLease))
	for _, d := range l.Domains {
		line("domain", a.domainText(d))
	}
	line("failures", fmt.Sprintf("%d since it was last ready, %d by itself ever", l.FailCount, l.Deaths))
	if l.Reason != "" {
		line("last", why(l.Reason, l.Message))
	}
	if l.ProviderMessage != "" {
		line("in full", inert(l.ProviderMessage))
	}
	for _, s := range l.Volumes {
		line("volumes", a.volumesText(l, s))
	}
	line("callbacks", a.callbacksOf(l.Callbacks))
	if l.Gone {
		line("gone", "nothing of it runs any more")
	}
	if len(l.Leaving) > 0 {
		line("removing", inert(strings.Join(l.Leaving, ", ")))
	}
	if l.Operation != nil {
		line("under way", a.operationOf(l.Operation))
	}
	a.printBackendWorkloads(l)
	a.printVolumes(l)
	if len(l.Releases) > 0 {
		a.printf("\n")
		a.printBackendReleases(l.Releases, l.ProviderMessage)
	}
}

func (a *app) printBackendWorkloads(l wire.BackendLeaseDetail) {
	if len(l.Workloads) == 0 {
		return
	}
	rows := [][]cell{a.header("SERVICE", "STATE", "READY", "RESTARTS", "INSTANCE", "WHY")}
	for _, w := range l.Workloads {
		state, reason := a.workloadState(w.State, ""), why(w.Reason, w.Message)
		switch {
		case w.Error != "":
			state, reason = cell{"unknown", a.out.red}, inert(w.Error)
		case w.State == "":
			state = cell{"not there yet", a.out.yellow}
		}
		rows = append(rows, []cell{
			{inert(w.Service), a.out.bold}, state, plain(fmt.Sprintf("%d/%d", w.Ready, w.Replicas)), plain(fmt.Sprint(w.Restarts)),
			{inert(w.Instance), a.out.dim}, plain(reason),
		})
	}
	a.printf("\n%s", table(rows))
	if len(l.Instances) == 0 {
		return
	}
	heads := []string{"CONTAINER", "STATUS", "PORTS", "ID"}
	if slices.ContainsFunc(l.Instances, func(one wire.BackendInstance) bool { return one.Name != "" }) {
		heads = append(heads, "NAME")
	}
	rows = [][]cell{a.header(heads...)}
	for _, one := range l.Instances {
		var ports []string
		for _, port := range slices.Sorted(maps.Keys(one.Ports)) {
			ports = append(ports, inert(port+" at "+one.Ports[port]))
		}
		rows = append(rows, []cell{
			plain(fmt.Sprintf("%s/%d", inert(one.Service), one.Index)), plain(dash(inert(one.Status))), plain(dash(strings.Join(ports, ", "))),
			{shorten(inert(one.Container), 24), a.out.dim}, plain(inert(one.Name)),
		})
	}
	a.printf("\n%s", table(rows))
}

// printBackendReleases prints a table, and below it what the provider said of each that
// failed, unless that was said before.
func (a *app) printBackendReleases(releases []wire.BackendRelease, before string) {
	rows := [][]cell{a.header("RELEASE", "STATUS", "AGE", "IMAGES", "WHY")}
	for _, r := range releases {
		status := plain(inert(r.Status))
		switch r.Status {
		case "active":
			status.paint = a.out.green
		case "failed":
			status.paint = a.out.red
		case "deploying":
			status.paint = a.out.yellow
		}
		var images []string
		for _, service := range slices.Sorted(maps.Keys(r.Images)) {
			images = append(images, inert(service+"="+r.Images[service]))
		}
		rows = append(rows, []cell{
			plain(fmt.Sprint(r.Version)), status, plain(ago(a.env.Now().Sub(r.CreatedAt))), plain(strings.Join(images, " ")), plain(why(r.Reason, r.Message)),
		})
	}
	a.printf("%s", table(rows))
	for _, r := range releases {
		if r.ProviderMessage != "" && r.ProviderMessage != before {
			a.printf("%s  %s\n", a.out.dim(fmt.Sprintf("release %d in full", r.Version)), inert(r.ProviderMessage))
		}
	}
}

func (a *app) callbacksOf(c wire.BackendCallbacks) string {
	text := "none"
	if c.Target != "" {
		text = "to " + inert(c.Target)
	}
	if c.GivenUp > 0 {
		text += fmt.Sprintf("; %d given up", c.GivenUp)
	}
	since := ago(a.env.Now().Sub(c.CreatedAt))
	switch {
	case c.Pending == 0:
		return text + "; none waits"
	case c.CreatedAt.IsZero(): // none has come as far as the outbox
		return text + fmt.Sprintf("; %d to be sent", c.Pending)
	case c.Pending == 1:
		text += "; 1 waits since " + since
	default:
		text += fmt.Sprintf("; %d wait in turn, the first since %s", c.Pending, since)
	}
	if c.Attempts == 0 {
		return text + ", not tried yet"
	}
	text += ", tried " + times(c.Attempts)
	if c.LastError != "" {
		text += " (" + inert(c.LastError) + ")"
	}
	return text + ", next try " + a.until(c.NextTry)
}

// until is how long it is to a time, which may be past.
func (a *app) until(t time.Time) string {
	left := t.Sub(a.env.Now())
	if left < time.Second {
		return "now"
	}
	return "in " + ago(left)
}

func (a *app) operationOf(op *wire.BackendOperation) string {
	text := fmt.Sprintf("%s to release %d, until %s", inert(op.Kind), op.Version, op.Deadline.UTC().Format(time.TimeOnly)+" UTC")
	if len(op.Done) > 0 {
		text += "; begun: " + inert(strings.Join(op.Done, ", "))
	}
	if op.Reason != "" || op.Message != "" {
		text += "; it failed and goes back: " + why(op.Reason, op.Message)
	}
	if op.ProviderMessage != "" {
		text += "; in full: " + inert(op.ProviderMessage)
	}
	return text
}

// since is a time with how long it is past.
func (a *app) since(t time.Time) string {
	return fmt.Sprintf("%s ago, %s", ago(a.env.Now().Sub(t)), utc(t))
}

func utc(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// why is a reason with its words.
func why(reason, message string) string {
	switch {
	case message == "":
		return inert(reason)
	case reason == "":
		return inert(message)
	}
	return inert(reason + ": " + message)
}

// paint is a cell that stands alone.
func paint(c cell) string {
	if c.paint == nil {
		return c.text
	}
	return c.paint(c.text)
}

func (a *app) backendReleasesCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "releases LEASE",
		Short: "List the releases of a lease",
		Long: `Lists the manifests that were deployed of a lease, or were to be, newest first, with
the image of each service and why one failed, and below the provider's own words for
it. What is in a manifest is not shown: it
may have its tenant's secrets.`,
		Example: `  berth backend releases 018f3c1e
  berth backend releases 018f3c1e -o json`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeLeases,
		RunE: a.onLease(func(ctx context.Context, b *client.Backend, lease string) error {
			l, err := b.Lease(ctx, lease)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(wire.BackendReleaseList{LeaseUUID: l.LeaseUUID, Releases: l.Releases})
			}
			a.printBackendReleases(l.Releases, "")
			return nil
		}),
	}
}
