package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completeTimeout bounds how long a shell waits for the names of apps.
const completeTimeout = time.Second

type completion = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// completeApps offers the names of apps.
func (a *app) completeApps(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c := a.client()
	defer c.Close()
	list, err := c.Apps(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, s := range list.Apps {
		names = append(names, s.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeServices offers apps and, after the slash, services of one.
func (a *app) completeServices(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	name, _, slash := strings.Cut(typed, "/")
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if !slash {
		names, directive := a.completeApps(cmd, args, typed)
		for i := range names {
			names[i] += "/"
		}
		return names, directive | cobra.ShellCompDirectiveNoSpace
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c := a.client()
	defer c.Close()
	status, err := c.App(ctx, name)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, s := range status.Services {
		names = append(names, name+"/"+s.Service)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

var (
	_ completion = (*app)(nil).completeApps
	_ completion = (*app)(nil).completeServices
)
