package cli

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// versions is the JSON of `berth version`.
type versions struct {
	Client wire.Version  `json:"client"`
	Daemon *wire.Version `json:"daemon,omitempty"`
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the versions of berth and of the daemon",
		Long:    `Shows both versions. A daemon that does not answer is said and is no failure.`,
		Example: `  berth version`,
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{Client: wire.Version{Version: a.env.Version, Go: runtime.Version()}}
			c := a.client()
			defer c.Close()
			daemon, err := c.Version(cmd.Context())
			if err == nil {
				v.Daemon = &daemon
			} else if !errors.Is(err, client.ErrUnreachable) {
				return err
			}
			if a.json() {
				return a.printJSON(v)
			}
			a.printf("berth   %s\n", v.Client.Version)
			if v.Daemon != nil {
				a.printf("berthd  %s\n", v.Daemon.Version)
			} else {
				a.printf("berthd  does not answer on %s\n", a.socket)
			}
			return nil
		},
	}
}
