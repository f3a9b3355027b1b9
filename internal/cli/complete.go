package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
)

// completeTimeout bounds how long a shell waits for the names of apps.
const completeTimeout = time.Second

type completion = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// completeApps offers the names of apps.
func (a *app) completeApps(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeFirst(cmd, args, func(ctx context.Context, c *client.Client) ([]string, error) {
		list, err := c.Apps(ctx)
		var names []string
		for _, s := range list.Apps {
			names = append(names, s.Name)
		}
		return names, err
	})
}

// completeFirst offers names, which the daemon is asked for, as the first argument.
func (a *app) completeFirst(cmd *cobra.Command, args []string, list func(context.Context, *client.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c := a.client()
	defer c.Close()
	names, err := list(ctx, c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
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

// completeServicesOf offers apps, then services of the app that was named.
func (a *app) completeServicesOf(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeApps(cmd, args, typed)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c := a.client()
	defer c.Close()
	status, err := c.App(ctx, args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, s := range status.Services {
		if !slices.Contains(args[1:], s.Service) {
			names = append(names, s.Service)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeSecrets offers apps, then secrets of the app that was named.
func (a *app) completeSecrets(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.completeApps(cmd, args, typed)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c := a.client()
	defer c.Close()
	list, err := c.Secrets(ctx, args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, s := range list.Secrets {
		names = append(names, s.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeReleases offers the releases of the service that was named, newest
// first.
func (a *app) completeReleases(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const asTheyCome = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(args) != 1 {
		return nil, asTheyCome
	}
	name, service, err := serviceTarget(args[0])
	if err != nil {
		return nil, asTheyCome
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c := a.client()
	defer c.Close()
	list, err := c.Releases(ctx, name, service)
	if err != nil {
		return nil, asTheyCome
	}
	var versions []string
	for _, r := range list.Releases {
		versions = append(versions, r.Version+"\t"+r.Image)
	}
	return versions, asTheyCome
}

var (
	_ completion = (*app)(nil).completeApps
	_ completion = (*app)(nil).completeServices
	_ completion = (*app)(nil).completeReleases
	_ completion = (*app)(nil).completeServicesOf
	_ completion = (*app)(nil).completeSecrets
	_ completion = (*app)(nil).completeWorkloads
)
