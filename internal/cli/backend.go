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
	"github.com/berth-cloud/berth/internal/wire"
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
		return a.noBackend(cmd.Context(), b, do(cmd.Context(), b))
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

// noBackend says what to do about a socket on which no backend answers. One that is not
// known there may be none of a backend at all.
func (a *app) noBackend(ctx context.Context, b *client.Backend, err error) error {
	var p *wire.Problem
	why := ""
	hint := "Start it with `systemctl start berthd-backend` or `berthd backend`, or give its socket with\n--socket or BERTH_BACKEND_SOCKET: it is backend.sock in the backend's data directory."
	switch {
	case errors.Is(err, client.ErrUnreachable):
		why = deaf(a.backend, err)
		if errors.Is(err, fs.ErrPermission) {
			hint = notYours
		}
	case errors.Is(err, client.ErrStranger), errors.As(err, &p) && p.Type == wire.ProblemNotFound:
		switch {
		case b.IsServer(ctx):
			why = "that is the socket of `berthd server`"
		case p != nil: // a backend that does not know what was asked for
			return err
		default:
			why = err.Error()
		}
	default:
		return err
	}
	return &failure{code: exitUnreachable, what: fmt.Sprintf("no backend answers at %s: %s", a.backend, why), hint: hint, err: err}
}

// lenLease is the length of a UUID.
const lenLease = 36

// listsLeases says how to find one.
const listsLeases = "`berth backend list` lists the leases there are, and `berth backend retentions` what others left."

// findLease finds the one lease whose UUID begins with a text. Every command that names a
// lease goes through it, so that each says the same of one that is not there.
func findLease(ctx context.Context, b *client.Backend, text string) (string, error) {
	text = strings.ToLower(text)
	const most = 5
	hint := listsLeases
	if text == "" {
		return "", usage("\"\" names no lease", hint)
	}
	found, err := b.LeaseNames(ctx, text, most)
	switch {
	case err != nil:
		return "", err
	case len(found.Leases) == 0 && len(text) == lenLease:
		return "", &failure{code: exitNotFound, what: "there is no lease " + text, hint: hint}
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
