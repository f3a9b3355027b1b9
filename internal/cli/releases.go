package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) releasesCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "releases APP/SERVICE",
		Short: "List the releases of a service",
		Long: `Lists what ran, newest first. A release is the record of an image by digest and
of everything else its containers were made from; "berth rollback" runs one again.`,
		Example:           `  berth releases shop/web`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeServices,
		RunE: func(cmd *cobra.Command, args []string) error {
			appName, service, err := serviceTarget(args[0])
			if err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			list, err := c.Releases(cmd.Context(), appName, service)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(list)
			}
			if len(list.Releases) == 0 {
				a.printf("No release yet: the first is written when the image has been found.\n")
				return nil
			}
			rows := [][]cell{a.header("RELEASE", "SERVES", "AGE", "IMAGE", "RESOLVED TO")}
			for _, r := range list.Releases {
				serves := ""
				if r.Active {
					serves = "yes"
				}
				rows = append(rows, []cell{
					plain(r.Version), {serves, a.out.green}, plain(ago(a.env.Now().Sub(r.CreatedAt))), plain(r.Image), {r.Resolved, a.out.dim},
				})
			}
			a.printf("%s", table(rows))
			return nil
		},
	}
}

func (a *app) header(names ...string) []cell {
	var row []cell
	for _, n := range names {
		row = append(row, cell{n, a.out.dim})
	}
	return row
}
