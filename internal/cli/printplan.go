package cli

import (
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/internal/wire"
)

// printPlan shows what would change, service by service.
func (a *app) printPlan(p wire.Plan) {
	rows := [][]cell{}
	for _, s := range p.Services {
		sign, paint := a.sign(s.Action)
		rows = append(rows, []cell{{sign, paint}, {s.Service, a.out.bold}, {string(s.Action), paint}})
	}
	lines := strings.SplitAfter(table(rows), "\n")
	a.printf("%s\n", a.out.bold("app "+p.App))
	for i, s := range p.Services {
		a.printf("  %s", lines[i])
		for _, c := range s.Changes {
			a.printf("      %s\n", printable(change(s.Action, c)))
		}
		for _, i := range s.Interrupts {
			a.printf("      %s\n", a.out.yellow(interruption(i)))
		}
		for _, v := range s.KeptVolumes {
			a.printf("      keeps volume %s, which the engine knows as %s\n", v.Name, v.Engine)
		}
		for _, n := range s.Notices {
			a.printf("      %s\n", a.out.dim("note: "+printable(n)))
		}
	}
}

func (a *app) sign(action wire.Action) (string, func(string) string) {
	switch action {
	case wire.ActionCreate:
		return "+", a.out.green
	case wire.ActionDelete:
		return "-", a.out.red
	case wire.ActionUnchanged:
		return "=", a.out.dim
	case wire.ActionRetry:
		return "!", a.out.yellow
	}
	return "~", a.out.yellow
}

// change is one field's change on one line.
func change(action wire.Action, c wire.FieldChange) string {
	switch {
	case action == wire.ActionCreate:
		return c.Field + ": " + c.New
	case c.Old == "" && c.Private:
		return c.Field + ": added"
	case c.New == "" && c.Private:
		return c.Field + ": removed"
	case c.Private:
		return c.Field + ": changed"
	case c.Old == "":
		return fmt.Sprintf("%s: added %s", c.Field, c.New)
	case c.New == "":
		return fmt.Sprintf("%s: removed %s", c.Field, c.Old)
	}
	return fmt.Sprintf("%s: %s -> %s", c.Field, c.Old, c.New)
}

// interruption is how users feel a change, on one line.
func interruption(i wire.Interruption) string {
	if i.Kind == "handover" {
		return "interrupts: stops the old container before the new one starts, because " + printable(i.Why)
	}
	return "interrupts: " + printable(i.Why)
}
