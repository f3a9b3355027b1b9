package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
)

func (a *app) backendCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backend COMMAND",
		Short: "Look at the leases of a backend, and drain it",
		Long: `For who operates a backend, which "berthd backend" is: shows the leases that it
hosts, with what the holder of the leases cannot see, and drains it.

Leases are made, changed and given up by their holder alone, over the backend's own
port. These commands go to its Unix socket on this machine, as root or as the user
that runs it; --socket or BERTH_BACKEND_SOCKET names another. A lease is named by
its UUID, or by as much of its beginning as no other lease has.`,
		Example: `  berth backend list --status failed
  berth backend show 018f3c1e             # a lease, with its history
  berth backend logs 018f3c1e --service web
  berth backend stats                     # what is leased, and what is free
  berth backend drain                     # take no new lease; those there go on`,
		SuggestionsMinimumDistance: 2,
		Args:                       knownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	socket := a.env.BackendSocket
	if socket == "" {
		socket = client.DefaultBackendSocket
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&a.backend, "socket", socket, "Unix socket of the backend; BERTH_BACKEND_SOCKET sets it too")
	flags.Lookup("socket").DefValue = client.DefaultBackendSocket
	cmd.AddCommand(a.backendListCmd(), a.backendShowCmd(), a.backendLogsCmd(), a.backendReleasesCmd(), a.backendRetentionsCmd(),
		a.backendStatsCmd(), a.backendDrainCmd())
	return cmd
}

// onBackend is a command on a backend.
func (a *app) onBackend(do func(ctx context.Context, b *client.Backend) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		b := client.NewBackend(a.backend)
		defer b.Close()
		return a.deafBackend(do(cmd.Context(), b))
	}
}

// onLease is a command on a lease, which its only argument begins.
func (a *app) onLease(do func(ctx context.Context, b *client.Backend, lease string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.onBackend(func(ctx context.Context, b *client.Backend) error {
			lease, err := findLease(ctx, b, args[0])
			if err != nil {
				return err
			}
			return do(ctx, b, lease)
		})(cmd, args)
	}
}

// deafBackend says what to do about a backend that does not answer.
func (a *app) deafBackend(err error) error {
	if !errors.Is(err, client.ErrUnreachable) {
		return err
	}
	hint := "Is the backend running? Start it with `systemctl start berthd-backend` or `berthd backend`,\nor name its socket with --socket or BERTH_BACKEND_SOCKET: DATA-DIR/backend.sock."
	if errors.Is(err, fs.ErrPermission) {
		hint = notYours
	}
	return &failure{code: exitUnreachable, what: deaf(a.backend, err), hint: hint, err: err}
}

// lenLease is the length of a UUID.
const lenLease = 36

// findLease finds the one lease whose UUID begins with a text.
func findLease(ctx context.Context, b *client.Backend, text string) (string, error) {
	text = strings.ToLower(text)
	if len(text) == lenLease {
		return text, nil
	}
	const most = 5
	hint := "`berth backend list` lists the leases there are."
	if text == "" {
		return "", usage("\"\" names no lease", hint)
	}
	found, err := b.LeaseNames(ctx, text, most)
	switch {
	case err != nil:
		return "", err
	case len(found.Leases) == 0:
		return "", &failure{code: exitNotFound, what: fmt.Sprintf("there is no lease that begins with %q", text), hint: hint}
	case len(found.Leases) > 1:
		for i, lease := range found.Leases {
			found.Leases[i] = inert(lease)
		}
		all := strings.Join(found.Leases, "\n  ")
		if found.More {
			all += "\n  and more"
		}
		return "", usage(fmt.Sprintf("several leases begin with %q", text), "Write more of the one that you mean:\n  "+all)
	}
	return found.Leases[0], nil
}

// completeLeases offers the leases that begin with what was typed.
func (a *app) completeLeases(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, directive
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	b := client.NewBackend(a.backend)
	defer b.Close()
	found, err := b.LeaseNames(ctx, typed, 100)
	if err != nil {
		return nil, directive
	}
	return found.Leases, directive
}

var _ completion = (*app)(nil).completeLeases

// inert makes one line of what a stranger wrote, in which nothing steers a terminal
// or turns the direction of what is read.
func inert(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return '\uFFFD'
		}
		return r
	}, s)
}
