package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) backendDrainCmd() *cobra.Command {
	var off bool
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Have a backend take no new lease",
		Long: `Has a backend refuse every new lease, and every lease that would be restored, for
want of room; whoever holds the leases then goes to another backend, and reads that
nothing is free here. The leases that are here go on: they can be restarted, updated
and given up. It lasts, also over restarts of the backend, until --off.`,
		Example: `  berth backend drain
  berth backend list          # until it is empty
  berth backend drain --off   # take leases again`,
		Args: takes(0, 0),
		RunE: a.onBackend(func(ctx context.Context, b *client.Backend) error {
			drain, err := b.Drain(ctx, !off)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(drain)
			}
			if !drain.On {
				a.printf("The backend takes leases.\n")
				return nil
			}
			a.printf("The backend takes no new lease; those that are here go on.\n")
			a.printf("%s\n", a.out.dim("`berth backend list` shows them, `berth backend drain --off` ends it."))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&off, "off", false, "take leases again")
	return cmd
}

func (a *app) backendStatsCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Show how a backend is, and what of it is leased",
		Long: `Shows whether a backend is healthy and takes leases, how many it has in each state,
and how much of its capacity they hold. While it is drained its holder is told that
all is taken; here the capacity is that of the settings.`,
		Example: `  berth backend stats
  berth backend stats -o json`,
		Args: takes(0, 0),
		RunE: a.onBackend(func(ctx context.Context, b *client.Backend) error {
			s, err := b.Status(ctx)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(s)
			}
			a.printBackendStatus(s)
			return nil
		}),
	}
}

func (a *app) printBackendStatus(s wire.BackendStatus) {
	line := func(name, text string) { a.printf("%s  %s\n", a.out.dim(fmt.Sprintf("%-12s", name)), text) }
	line("backend", fmt.Sprintf("%s, berthd %s", a.out.bold(inert(s.Name)), inert(s.Version)))
	health := a.out.green("yes")
	if !s.Healthy {
		health = a.out.red("no") + ": " + inert(s.Error)
	}
	line("healthy", health)
	takes := a.out.green("yes")
	if s.Drain.On {
		takes = a.out.yellow("no") + ": it is being drained, since " + a.since(s.Drain.Since)
	}
	line("takes leases", takes)
	line("leases", leasesByStatus(s.Leases))
	for _, note := range s.Notes {
		line("note", inert(note))
	}
	c := s.Capacity
	rows := [][]cell{a.header("", "TOTAL", "LEASED", "FREE")}
	for _, kind := range []struct {
		name  string
		share wire.BackendShare
	}{{"CPU cores", c.CPUCores}, {"memory MB", c.MemoryMB}, {"disk MB", c.DiskMB}} {
		if kind.share == (wire.BackendShare{}) {
			continue // there is none of it
		}
		row := []cell{{kind.name, a.out.dim}}
		for _, n := range []float64{kind.share.Total, kind.share.Allocated, kind.share.Available} {
			row = append(row, plain(strconv.FormatFloat(n, 'f', -1, 64)))
		}
		rows = append(rows, row)
	}
	rows = append(rows, []cell{{"containers", a.out.dim}, plain("-"), plain(strconv.Itoa(c.Containers)), plain("-")})
	a.printf("\n%s", table(rows))
	if c.RetainedDiskMB > 0 {
		a.printf("%d MB of the disk are retained.\n", c.RetainedDiskMB)
	}
}

// leasesByStatus is how many there are, in the order of a lease's life.
func leasesByStatus(by map[string]int) string {
	total := 0
	var parts []string
	add := func(status string) {
		if n := by[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, inert(status)))
			total += n
		}
	}
	for _, status := range leaseStates {
		add(status)
	}
	var others []string
	for status := range by {
		if !slices.Contains(leaseStates, status) {
			others = append(others, status)
		}
	}
	slices.Sort(others)
	for _, status := range others {
		add(status)
	}
	if total == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}
