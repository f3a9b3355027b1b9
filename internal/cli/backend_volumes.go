package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) backendRetentionsCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "retentions",
		Short: "List the leases whose data is retained",
		Long: `Lists the leases that were given up and whose data is still there, the last one
first. What is retained stays until the time that is shown; its holder may restore
it to a new lease until then. What is restoring is that lease's, which gives it back
unless it comes to be ready. What is reaping is being removed, and counted until it
is gone.`,
		Example: `  berth backend retentions
  berth backend show 018f3c1e             # one of them, with its volumes
  berth backend retentions -o json`,
		Args: takes(0, 0),
		RunE: a.onBackend(func(ctx context.Context, b *client.Backend) error {
			all, err := b.Retentions(ctx)
			if err != nil {
				return err
			}
			slices.SortStableFunc(all, func(x, y wire.BackendRetention) int {
				return cmp.Or(y.LeftAt.Compare(x.LeftAt), strings.Compare(x.LeaseUUID, y.LeaseUUID))
			})
			if a.json() {
				return a.printJSON(wire.BackendRetentionList{Retentions: all})
			}
			if len(all) == 0 {
				a.printf("Nothing is retained.\n")
				return nil
			}
			rows := [][]cell{a.header("LEASE", "TENANT", "ITEMS", "DISK", "STATE", "KEPT FOR")}
			for _, r := range all {
				rows = append(rows, []cell{
					{inert(r.LeaseUUID), a.out.bold}, plain(shorten(dash(inert(r.Tenant)), 32)), plain(shorten(itemsText(r.Items), 64)),
					plain(fmt.Sprintf("%d MB", r.DiskMB)), a.setState(r.BackendVolumeSet), plain(a.keptFor(r.BackendVolumeSet)),
				})
			}
			a.printf("%s", table(rows))
			return nil
		}),
	}
}

// setState is the state in the colour of how near its end it is.
func (a *app) setState(s wire.BackendVolumeSet) cell {
	text := inert(s.State)
	switch s.State {
	case "held", "retained":
		return plain(text)
	case "restoring":
		return cell{text + " to " + inert(s.Owner), a.out.yellow}
	case "reaping":
		if s.Attempts > 0 {
			return cell{fmt.Sprintf("%s, failed %s", text, times(s.Attempts)), a.out.red}
		}
	}
	return cell{text, a.out.yellow}
}

func (a *app) keptFor(s wire.BackendVolumeSet) string {
	switch {
	case s.State != "retained":
		return "-"
	case s.RetainedUntil.IsZero():
		return "no end"
	}
	return ago(max(s.RetainedUntil.Sub(a.env.Now()), 0))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// volumesText is one line about a set.
func (a *app) volumesText(l wire.BackendLeaseDetail, s wire.BackendVolumeSet) string {
	text := paint(a.setState(s))
	switch {
	case s.State == "retained" && s.RetainedUntil.IsZero():
		text += " without an end"
	case s.State == "retained":
		text += " for " + a.keptFor(s) + ", until " + utc(s.RetainedUntil)
	}
	if s.Left != "" && s.Left != l.LeaseUUID {
		text += ", left by " + inert(s.Left)
	}
	return fmt.Sprintf("%s, %d MB in set %s", text, s.DiskMB, inert(s.ID))
}

func (a *app) printVolumes(l wire.BackendLeaseDetail) {
	rows := [][]cell{a.header("VOLUME", "DIRECTORY", "SET", "ID")}
	for _, s := range l.Volumes {
		for _, v := range s.Volumes {
			rows = append(rows, []cell{
				plain(fmt.Sprintf("%s/%d", inert(v.Service), v.Index)), plain(inert(v.Path)), {inert(s.ID), a.out.dim}, {inert(v.ID), a.out.dim},
			})
		}
	}
	if len(rows) > 1 {
		a.printf("\n%s", table(rows))
	}
}

// domainText is one line about a custom domain.
func (a *app) domainText(d wire.BackendDomain) string {
	state := cell{inert(d.State), a.out.yellow}
	switch d.State {
	case "served":
		state.paint = a.out.green
	case "refused":
		state.paint = a.out.red
	}
	text := fmt.Sprintf("%s for %s  %s", inert(d.Domain), dash(inert(d.Service)), paint(state))
	if d.Why != "" {
		text += ": " + inert(d.Why)
	}
	switch {
	case d.Again.IsZero():
	case d.State == "refused":
		text += "; it may be asked for anew at " + utc(d.Again)
	default:
		text += "; it is looked at again at " + utc(d.Again)
	}
	return text
}
