package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/wire"
)

const defaultTail = 100

type logFlags struct {
	follow, timestamps, raw bool
	tail                    int
	since                   string
}

func (a *app) logsCmd() *cobra.Command {
	var flags logFlags
	var names nameList
	cmd := &cobra.Command{
		Use:   "logs APP[/SERVICE]",
		Short: "Show what services print",
		Long: `Shows the lines of an app or a service in the order of time, over all replicas and
releases, and the kept end of the log of containers that are gone. With -f it goes
on, also over a deploy.

Of a group, --member shows only the main container, or the inits and sidecars named.

With -o json each line is one JSON object.`,
		Example: `  berth logs shop
  berth logs shop/web -f
  berth logs shop/web --member main,cache
  berth logs shop/web --since 10m --tail 0`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeServices,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := a.logQuery(args[0], flags, cmd.Flags().Changed("tail"))
			if err != nil {
				return err
			}
			if q.Members, err = names.members(); err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			err = c.Logs(cmd.Context(), q, func(e wire.LogEntry) error { return a.printLog(e, flags) })
			if flags.follow && errors.Is(err, cmd.Context().Err()) && err != nil {
				return nil // Ctrl-C is how following ends
			}
			return err
		},
	}
	flags.add(cmd)
	cmd.Flags().Var(&names, "member", "only these members: main, or names of inits and sidecars; may be repeated (default: all)")
	a.completeFlag(cmd, "member", a.completeMembers)
	return cmd
}

// add declares the flags of every command that shows logs.
func (flags *logFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&flags.follow, "follow", "f", false, "go on with new lines until Ctrl-C")
	f.IntVar(&flags.tail, "tail", defaultTail, "only the last lines of what is there, at most 10000; 0: all (default with --since)")
	f.StringVar(&flags.since, "since", "", "leave out older lines: a duration such as 10m, or a time such as 2006-01-02T15:04:05Z")
	f.BoolVarP(&flags.timestamps, "timestamps", "t", false, "show the time of each line")
	f.BoolVar(&flags.raw, "raw", false, "print the lines alone, without the service before them")
}

func (a *app) logQuery(target string, flags logFlags, tailSet bool) (wire.LogQuery, error) {
	appName, service, err := splitTarget(target)
	if err != nil {
		return wire.LogQuery{}, err
	}
	q := wire.LogQuery{App: appName, Service: service, Tail: flags.tail, Follow: flags.follow}
	if flags.since != "" {
		if q.Since, err = a.parseSince(flags.since); err != nil {
			return q, err
		}
		if !tailSet {
			q.Tail = 0
		}
	}
	if q.Tail < 0 || q.Tail > wire.MaxTail {
		return q, usage(fmt.Sprintf("--tail %d is out of bounds", flags.tail), fmt.Sprintf("Write 0 for all, or up to %d.", wire.MaxTail))
	}
	return q, nil
}

func (a *app) parseSince(s string) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return a.env.Now().Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	return time.Time{}, usage(fmt.Sprintf("--since %s is neither a duration nor a time", s), "Write 90s, 10m, 2h, or 2006-01-02T15:04:05Z.")
}

func (a *app) printLog(e wire.LogEntry, flags logFlags) error {
	if a.json() {
		data, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("print a log line: %w", err)
		}
		_, err = fmt.Fprintf(a.env.Stdout, "%s\n", data)
		return err
	}
	var b strings.Builder
	if flags.timestamps {
		b.WriteString(a.out.dim(e.Time.Format("2006-01-02T15:04:05.000Z07:00")) + " ")
	}
	if !flags.raw {
		release := e.Release
		if release != "" {
			release = " " + release
		}
		member := e.Member
		if member != "" {
			member = "/" + member
		}
		b.WriteString(a.out.cyan(fmt.Sprintf("%s.%d%s%s |", e.Service, e.Replica, member, release)) + " ")
	}
	text := e.Text
	if a.env.StdoutTTY {
		text = printable(text)
	}
	b.WriteString(text)
	if !e.Partial || !flags.raw {
		b.WriteByte('\n')
	}
	_, err := fmt.Fprint(a.env.Stdout, b.String())
	return err
}
