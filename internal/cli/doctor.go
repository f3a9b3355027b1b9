package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) doctorCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the daemon and the machine",
		Long: `Checks what Berth stands on: the daemon, the container engine, the data plane, the
disk. Each finding says what to do. The exit code is 1 when a check failed, 5 when
the daemon does not answer; a warning alone is no failure.`,
		Example: `  berth doctor
  berth doctor -o json`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.client()
			defer c.Close()
			found, err := c.Doctor(cmd.Context())
			if err != nil && !errors.Is(err, client.ErrUnreachable) {
				return err
			}
			daemon := wire.Check{Name: "daemon", State: wire.CheckOK, Message: "answers on " + a.socket}
			if err != nil {
				p := a.unreachable(err)
				daemon = wire.Check{Name: "daemon", State: wire.CheckFailed, Message: p.Detail, Fix: p.Hint}
			}
			found.Checks = append([]wire.Check{daemon}, found.Checks...)
			if printErr := a.printDoctor(found); printErr != nil {
				return printErr
			}
			switch {
			case err != nil:
				return &failure{code: exitUnreachable, what: "the daemon does not answer", err: err, quiet: true}
			case found.Failed():
				return &failure{code: exitFailed, what: "a check failed", quiet: true}
			}
			return nil
		},
	}
}

func (a *app) printDoctor(d wire.Doctor) error {
	if a.json() {
		return a.printJSON(d)
	}
	for _, c := range d.Checks {
		mark, paint := "ok  ", a.out.green
		switch c.State {
		case wire.CheckWarning:
			mark, paint = "warn", a.out.yellow
		case wire.CheckFailed:
			mark, paint = "FAIL", a.out.red
		}
		a.printf("%s  %s: %s\n", paint(mark), c.Name, printable(c.Message))
		if c.Fix != "" {
			a.printf("%s\n", indent("      ", printable(c.Fix)))
		}
	}
	return nil
}
