package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-cloud/berth/internal/wire"
)

// nameList is the value of a flag that takes names, repeated or behind commas.
type nameList []string

var _ pflag.Value = (*nameList)(nil)

// String implements pflag.Value.
func (l *nameList) String() string { return strings.Join(*l, ",") }

// Type implements pflag.Value; help shows it behind the flag.
func (*nameList) Type() string { return "names" }

// Set implements pflag.Value.
func (l *nameList) Set(s string) error {
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(*l, name) {
			*l = append(*l, name)
		}
	}
	return nil
}

// members refuses what a request for logs does not take.
func (l nameList) members() ([]string, error) {
	if slices.Contains(l, "") {
		return nil, usage("--member has an empty name", "Write NAME, or NAME,NAME; leave it out for all.")
	}
	if len(l) > wire.MaxLogMembers {
		return nil, usage(fmt.Sprintf("--member names %d members", len(l)), fmt.Sprintf("Name up to %d, or leave it out for all.", wire.MaxLogMembers))
	}
	return l, nil
}

// completeFlag offers values of a flag.
func (a *app) completeFlag(cmd *cobra.Command, flag string, offer completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic(err) // the flag is not there, or has one already
	}
}

// completeMembers offers the members that the named app or service has
// containers of, behind those typed already.
func (a *app) completeMembers(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	if len(args) == 0 {
		return nil, directive
	}
	name, service, err := splitTarget(args[0])
	if err != nil {
		return nil, directive
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c := a.client()
	defer c.Close()
	list, err := c.Containers(ctx, name)
	if err != nil {
		return nil, directive
	}
	before := typed[:strings.LastIndex(typed, ",")+1]
	var offers []string
	for _, container := range list.Containers {
		if service != "" && container.Service != service || slices.Contains(strings.Split(before, ","), container.Member) {
			continue
		}
		offers = append(offers, before+container.Member)
	}
	slices.Sort(offers)
	return slices.Compact(offers), directive
}

var _ completion = (*app)(nil).completeMembers
