package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) workloadApplyCmd() *cobra.Command {
	var file, from, notes string
	var flags workloadFlags
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Make a workload what its file says",
		Long: `Reads a workload file and the config files that it names, and creates the workload
or brings a release of what differs. The release before goes on until the new one
is ready, and stays when that fails.

What no release can change (provider, kind, network, labels, which services there
are, their roles and what they depend on) is refused, and so is what the provider
cannot do. A dry run asks the provider too.

The command waits for the outcome. Ctrl-C leaves the rollout going on.`,
		Example: `  berth workload apply                       # ./workload.yaml
  berth workload apply -f shop.yaml --dry-run
  berth workload apply -f shop.yaml --provider docker`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := a.readWorkload(file)
			if err != nil {
				return err
			}
			req.Provider, req.Notes, req.DryRun = from, notes, flags.dryRun
			c := a.client()
			defer c.Close()
			return a.changeWorkload(cmd.Context(), c, flags, func(ctx context.Context) (wire.WorkloadChange, error) {
				return c.ApplyWorkload(ctx, req)
			})
		},
	}
	flags.add(cmd)
	f := cmd.Flags()
	f.StringVarP(&file, "file", "f", "workload.yaml", "the workload file; - reads standard input")
	f.StringVar(&from, "provider", "", "name of the provider, in place of the one in the file")
	f.StringVar(&notes, "notes", "", "a text to keep with the release")
	return cmd
}

// readWorkload reads a workload file and the config files that it names, relative
// to its folder.
func (a *app) readWorkload(file string) (wire.WorkloadApplyRequest, error) {
	source, err := a.readFile(file, "workload.yaml")
	if err != nil {
		return wire.WorkloadApplyRequest{}, err
	}
	req := wire.WorkloadApplyRequest{Source: source, Filename: file}
	folder := filepath.Dir(file)
	if file == "-" {
		req.Filename, folder = "standard input", "."
	}
	req.Files, err = readConfigFiles(folder, configFileNames(source))
	return req, err
}

// workloadFlags are those of commands that bring a release.
type workloadFlags struct{ dryRun, detach bool }

func (f *workloadFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change and change nothing")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "do not wait for the outcome")
}

// changeWorkload asks for a change, shows it and waits for the outcome.
func (a *app) changeWorkload(ctx context.Context, c *client.Client, flags workloadFlags, call func(ctx context.Context) (wire.WorkloadChange, error)) error {
	change, err := call(ctx)
	if err != nil {
		return err
	}
	if !a.json() {
		a.printWorkloadChange(change)
	}
	switch {
	case change.Rollout != nil && !flags.detach:
		return a.awaitRollout(ctx, c, change)
	case a.json():
		return a.printJSON(change)
	case flags.dryRun:
		a.printf("Dry run: nothing was changed.\n")
	case change.Rollout == nil:
		a.printf("Nothing to change.\n")
	default:
		a.printf("Rollout %d has begun. Follow it with `berth workload status %s -f`.\n", change.Rollout.Number, change.Name)
	}
	return nil
}

// printWorkloadChange shows what is to change, service by service.
func (a *app) printWorkloadChange(change wire.WorkloadChange) {
	a.printf("workload %s on %s: %s\n", a.out.bold(change.Name), change.Provider, actionWords[change.Action])
	action := wire.ActionUpdate
	if change.Action == wire.WorkloadCreate {
		action = wire.ActionCreate
	}
	sign, paint := a.sign(action)
	service := ""
	for _, f := range change.Changes {
		if f.Service != service {
			service = f.Service
			a.printf("  %s  %s\n", paint(sign), a.out.bold(service))
		}
		a.printf("%s%s\n", fieldIndent(service), printable(workloadField(action, f)))
	}
	for _, n := range change.Notices {
		a.printf("  note: %s\n", printable(n))
	}
}

// fieldIndent is for what a service says, and for what the workload itself does.
func fieldIndent(service string) string {
	if service == "" {
		return "  "
	}
	return "      "
}

// workloadField is one field's change on one line, as apps have them.
func workloadField(action wire.Action, f wire.WorkloadFieldChange) string {
	return change(action, wire.FieldChange{Field: f.Field, Old: f.Old, New: f.New, Private: f.Old == wire.HiddenValue || f.New == wire.HiddenValue})
}

var actionWords = map[wire.WorkloadAction]string{
	wire.WorkloadCreate: "create", wire.WorkloadDeploy: "deploy", wire.WorkloadRollback: "rollback",
	wire.WorkloadUnderWay: "is on its way already", wire.WorkloadUnchanged: "unchanged",
}
