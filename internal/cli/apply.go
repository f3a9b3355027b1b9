package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/wire"
)

// maxFile bounds the app file that is read, just above what the server takes,
// so that the server says what is too large.
const maxFile = 1<<20 + 1

func (a *app) applyCmd() *cobra.Command {
	var flags changeFlags
	var file string
	var refresh bool
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Make an app what its file says",
		Long: `Reads an app file, shows what would change, and changes it: a new version takes
over once it is ready, and the old one ends what it has begun.

A change that interrupts a service or removes one is asked about on a terminal;
elsewhere it is refused with exit code 3 unless --yes is given. A service that is
no longer in the file is removed; its volumes stay.

The command waits for the outcome. Ctrl-C leaves the deploy going on.`,
		Example: `  berth apply                      # ./app.yaml
  berth apply -f shop.yaml --dry-run
  generate-app | berth apply -f - --yes`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			source, err := a.readSource(file)
			if err != nil {
				return err
			}
			name := file
			if name == "-" {
				name = "standard input"
			}
			c := a.client()
			defer c.Close()
			return a.change(cmd.Context(), c, flags, func(ctx context.Context, s step) (wire.ChangeResult, error) {
				return c.Apply(ctx, wire.ApplyRequest{
					Source: source, Filename: name, Refresh: refresh, DryRun: s.dryRun, Base: s.base,
					AllowInterrupt: s.interrupt, AllowRemove: s.remove,
				})
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "app.yaml", "the app file; - reads standard input")
	cmd.Flags().BoolVar(&refresh, "refresh", false, "look up the images of unchanged services again")
	return cmd
}

// readSource reads the app file.
func (a *app) readSource(file string) (string, error) { return a.readFile(file, "app.yaml") }

// readFile reads a file that an apply is made from; usual is what it is mostly
// called.
func (a *app) readFile(file, usual string) (string, error) {
	in := a.env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return "", usage(fmt.Sprintf("there is no file %s", file), fmt.Sprintf("Go where your %s is, or name the file with -f.", usual))
		}
		if err != nil {
			return "", usage(fmt.Sprintf("cannot open %s: %v", file, err), "Name a file that can be read with -f.")
		}
		defer f.Close()
		in = f
	}
	source, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err != nil {
		return "", usage(fmt.Sprintf("cannot read %s: %v", file, err), "Name a file that can be read with -f.")
	}
	return string(source), nil
}
