package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// leaseStates are those that a lease may be in.
var leaseStates = []string{
	"provisioning", "ready", "restarting", "updating", "failing", "failed", "deprovisioning", "retained", "unknown",
}

func (a *app) backendListCmd() *cobra.Command {
	var states nameList
	var tenant string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the leases of a backend",
		Long: `Lists the leases that a backend hosts, one a line and the newest first: what each
is a lease of, its age, and how many times it failed since it was last ready. Those
of which the data alone is left are in it where --status asks for retained ones;
"berth backend retentions" says more of them.`,
		Example: `  berth backend list
  berth backend list --status failed,failing
  berth backend list --tenant acme -o json`,
		Args: takes(0, 0),
		RunE: a.onBackend(func(ctx context.Context, b *client.Backend) error {
			for _, s := range states {
				if !slices.Contains(leaseStates, s) {
					return usage(fmt.Sprintf("%q is no status of a lease", s), "Write one or more of "+strings.Join(leaseStates, ", ")+".")
				}
			}
			all, err := b.Leases(ctx)
			if err == nil && slices.Contains(states, "retained") {
				all, err = withRetained(ctx, b, all)
			}
			if err != nil {
				return err
			}
			some := slices.DeleteFunc(slices.Clone(all), func(l wire.BackendLease) bool {
				return len(states) > 0 && !slices.Contains(states, l.Status) || tenant != "" && l.Tenant != tenant
			})
			newestFirst(some)
			switch {
			case a.json():
				return a.printJSON(wire.BackendLeaseList{Leases: some})
			case len(all) == 0:
				a.printf("No leases: their holder has provisioned none here.\n")
			case len(some) == 0:
				a.printf("None of the %d leases is as asked for.\n", len(all))
			default:
				a.printLeases(some)
			}
			return nil
		}),
	}
	cmd.Flags().Var(&states, "status", "only leases with this status; may be repeated (default: all)")
	cmd.Flags().StringVar(&tenant, "tenant", "", "only leases of this tenant")
	a.completeFlag(cmd, "status", cobra.FixedCompletions(leaseStates, cobra.ShellCompDirectiveNoFileComp))
	a.completeFlag(cmd, "tenant", cobra.NoFileCompletions)
	return cmd
}

// withRetained adds the leases of which the data alone is left.
func withRetained(ctx context.Context, b *client.Backend, leases []wire.BackendLease) ([]wire.BackendLease, error) {
	left, err := b.Retentions(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, l := range leases {
		known[l.LeaseUUID] = true
	}
	for _, r := range left {
		if known[r.LeaseUUID] || r.State == "reaping" {
			continue // it is there anew, or its data is going
		}
		known[r.LeaseUUID] = true
		l := wire.BackendLease{
			LeaseUUID: r.LeaseUUID, Tenant: r.Tenant, Status: "retained", CreatedAt: r.CreatedAt, RetainedUntil: r.RetainedUntil, Items: r.Items,
		}
		for _, item := range r.Items {
			l.Quantity += item.Quantity
		}
		leases = append(leases, l)
	}
	return leases, nil
}

// newestFirst puts what somebody looks for, mostly, where it is seen.
func newestFirst(leases []wire.BackendLease) {
	slices.SortStableFunc(leases, func(x, y wire.BackendLease) int { return y.CreatedAt.Compare(x.CreatedAt) })
}

func (a *app) printLeases(leases []wire.BackendLease) {
	rows := [][]cell{a.header("LEASE", "TENANT", "STATUS", "ITEMS", "AGE", "FAILURES")}
	for _, l := range leases {
		failures := plain(fmt.Sprint(l.FailCount))
		if l.FailCount > 0 {
			failures.paint = a.out.red
		}
		rows = append(rows, []cell{
			{inert(l.LeaseUUID), a.out.bold}, plain(shorten(dash(inert(l.Tenant)), 32)), a.leaseStatus(l), plain(shorten(itemsOf(l), 64)),
			plain(ago(a.env.Now().Sub(l.CreatedAt))), failures,
		})
	}
	a.printf("%s", table(rows))
}

// leaseStatus is the status in the colour of how bad it is.
func (a *app) leaseStatus(l wire.BackendLease) cell {
	text := inert(l.Status)
	switch l.Status {
	case "ready":
		return cell{text, a.out.green}
	case "failed", "failing", "unknown":
		if l.Reason != "" {
			text += " (" + inert(l.Reason) + ")"
		}
		return cell{text, a.out.red}
	case "retained":
		return plain(text)
	}
	return cell{text, a.out.yellow}
}

// itemsOf is what a lease is of, such as "web: small × 2, db: micro".
func itemsOf(l wire.BackendLease) string { return itemsText(l.Items) }

func itemsText(items []wire.BackendItem) string {
	var all []string
	for _, item := range items {
		text := inert(item.SKU)
		if item.ServiceName != "" && len(items) > 1 {
			text = inert(item.ServiceName) + ": " + text
		}
		if item.Quantity != 1 {
			text += fmt.Sprintf(" × %d", item.Quantity)
		}
		all = append(all, text)
	}
	return dash(strings.Join(all, ", "))
}
