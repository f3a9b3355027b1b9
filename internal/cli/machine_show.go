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

func (a *app) machineShowCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a machine with its history",
		Long: `Shows all that is known of a machine: whose it is, how it is connected, whether it
is made of what its group is made of now, and what happened to it. What its record
says of its life is kept as long as the record, for a while after it is gone; the
rest is what the server that leads saw since it began.`,
		Example: `  berth machine show wrk06h2r0gmwdv7590v8v9a4pz8hg
  berth machine show wrk06h2r0gm -o json`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeMachines,
		RunE: a.onDaemon(func(ctx context.Context, c *client.Client, args []string) error {
			m, err := c.Machine(ctx, args[0])
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(m)
			}
			a.printMachine(&m)
			return nil
		}),
	}
}

func (a *app) printMachine(m *wire.MachineDetail) {
	a.printf("machine %s  %s\n", a.out.bold(inert(m.ID)), paint(a.machineStatus(m.Status)))
	line := func(name, text string) {
		if text != "" {
			a.printf("  %s  %s\n", a.out.dim(fmt.Sprintf("%-11s", name)), text)
		}
	}
	line("why", inert(m.Reason))
	group := inert(m.Tenant + "/" + m.Group)
	if m.OnDemand {
		group += ", on demand"
	}
	line("group", group)
	line("made of", a.madeOf(m))
	line("online", a.onlineText(m))
	line("address", inert(strings.Join(nonEmpty(m.PrivateIPv4, m.PrivateIPv6), ", ")))
	line("hostname", inert(m.Hostname))
	line("provider", inert(m.ProviderID))
	line("created", a.since(m.CreatedAt))
	if !m.RegisteredAt.IsZero() {
		line("registered", a.since(m.RegisteredAt))
	}
	if !m.CertExpiresAt.IsZero() && m.Status != "deleted" {
		line("certificate", "holds until "+utc(m.CertExpiresAt))
	}
	line("variables", pairs(m.Vars))
	line("tags", pairs(m.Tags))
	a.printMachineNode(m.Node, line)
	a.printMachineEvents(m.Events)
}

func (a *app) madeOf(m *wire.MachineDetail) string {
	text := inert(strings.Join(nonEmpty(m.Template, m.InstanceType), ", "))
	if text != "" && !m.Current {
		text += ", of which its group is not made any more"
	}
	return text
}

func (a *app) onlineText(m *wire.MachineDetail) string {
	switch {
	case m.Online:
		return a.out.green("yes") + ", heard of " + ago(a.env.Now().Sub(m.HeardAt)) + " ago"
	case !m.HeardAt.IsZero():
		return "no, heard of " + ago(a.env.Now().Sub(m.HeardAt)) + " ago"
	}
	return "no"
}

func (a *app) printMachineNode(n *wire.MachineNode, line func(name, text string)) {
	if n == nil {
		return
	}
	line("connected", "from "+inert(n.Remote)+" for "+ago(a.env.Now().Sub(n.ConnectedAt)))
	agent := nonEmpty(n.Version, strings.Join(nonEmpty(n.OS, n.Arch), "/"), n.Kernel)
	line("agent", inert(strings.Join(agent, ", ")))
	var size []string
	if n.CPUs > 0 {
		size = append(size, fmt.Sprintf("%d CPUs, load %.2f", n.CPUs, n.Load1))
	}
	if n.MemoryBytes > 0 {
		size = append(size, fmt.Sprintf("%d of %d MiB of memory free", n.MemoryAvailableBytes>>20, n.MemoryBytes>>20))
	}
	if n.UptimeSeconds > 0 {
		size = append(size, "up for "+ago(time.Duration(n.UptimeSeconds)*time.Second))
	}
	line("resources", strings.Join(size, ", "))
}

func (a *app) printMachineEvents(events []wire.MachineEvent) {
	if len(events) == 0 {
		return
	}
	rows := [][]cell{a.header("WHEN", "WHAT", "")}
	for _, e := range events {
		text := inert(e.Text)
		if e.Times > 1 {
			text = strings.TrimSpace(text + " (" + times(e.Times) + ")")
		}
		rows = append(rows, []cell{plain(utc(e.At)), {inert(e.Kind), a.out.bold}, plain(shorten(text, 200))})
	}
	a.printf("\n%s", table(rows))
}

// pairs are names with their values, in the order of the names.
func pairs(of map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, shorten(inert(name+"="+of[name]), 60))
	}
	return strings.Join(all, " ")
}

func nonEmpty(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}
