package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) nodeJoinCmd() *cobra.Command {
	var req wire.JoinRequest
	var labels []string
	cmd := &cobra.Command{
		Use:   "join --name NAME",
		Short: "Have a host join that is there already",
		Long: `Prints one command, to be run as root on a host that has a container engine and
berth-node: it makes the host a node of this Berth. The token in it is shown once,
is good for one host, and for a day. It says where to register and by which
authority this Berth is known, so that the host tells nobody else about itself.

Whoever has the token can be that node: pass it on as you would a password. "berth
node remove" takes it back, before or after the host has joined.`,
		Example: `  berth node join --name attic
  berth node join --name attic --label disk=ssd --label zone=cellar`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if req.Name == "" {
				return usage("the host has no name", "Give it one with --name.")
			}
			var err error
			if req.Labels, err = parseLabels(labels); err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			token, err := c.JoinNode(cmd.Context(), req)
			if err != nil {
				return err
			}
			return a.printJoin(token)
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Name, "name", "", "what the node is called")
	f.StringArrayVar(&labels, "label", nil, "KEY=VALUE that app files may ask for; may be repeated")
	f.Lookup("label").DefValue = ""
	a.completeFlag(cmd, "name", cobra.NoFileCompletions)
	a.completeFlag(cmd, "label", cobra.NoFileCompletions)
	return cmd
}

func parseLabels(words []string) (map[string]string, error) {
	if len(words) == 0 {
		return nil, nil
	}
	labels := map[string]string{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if _, twice := labels[key]; !ok || key == "" || twice {
			return nil, usage(fmt.Sprintf("--label %q is not one", word), "Write KEY=VALUE, each key once.")
		}
		labels[key] = value
	}
	return labels, nil
}

func labelText(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, inert(key)+"="+inert(labels[key]))
	}
	return strings.Join(all, ", ")
}

// printJoin shows the command. Its only argument is a token in which no character
// means anything to a shell; one that is not like that is not shown.
func (a *app) printJoin(token wire.JoinToken) error {
	if strings.ContainsFunc(token.Token, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}) || token.Token == "" {
		return &failure{code: exitFailed, what: "the daemon answered with a token that is none", hint: "Are berth and berthd of one version? `berth version` says so."}
	}
	if a.json() {
		return a.printJSON(token)
	}
	a.printf("Run this on the host, as root. It is shown once, and good for one host until %s:\n\n", utc(token.ExpiresAt))
	a.printf("  berth-node join %s\n\n", token.Token)
	a.printf("%s\n", a.out.dim(fmt.Sprintf("`berth node show %s` says when it has joined; `berth node remove %s` takes the token back.", inert(token.Name), inert(token.Name))))
	return nil
}

func (a *app) nodeRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NODE",
		Short: "Have a host that joined be a node no more",
		Long: `Forgets a host that joined, and the token if it has not: its agent is let in no
more, and no app is placed on it. What runs on it is not stopped by this: drain it
first, or clear the host yourself. A machine of a group is deleted by "berth
machine delete".

The id or the name is to be written in full.`,
		Example: `  berth node drain attic --wait
  berth node remove attic`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeNodes,
		RunE: a.changeNode(func(ctx context.Context, c *client.Client, node string) (wire.Node, error) {
			return c.RemoveNode(ctx, node)
		}, func(n wire.Node) {
			a.printf("%s %s is a node no more.\n", a.out.green("Removed:"), a.out.bold(called(n)))
			if n.Containers > 0 {
				a.printf("%s\n", a.out.yellow(fmt.Sprintf("%d containers may still run on it; Berth does not see them any more.", n.Containers)))
			}
		}),
	}
}
