package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpCmd is in place of the library's, which shows the overview for a word
// that it does not know and calls that a success.
func helpCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show how a command is used",
		Long:    `Shows what a command does, its flags and examples; without one, all commands.`,
		Example: `  berth help apply`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 && !c.Hidden {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage(fmt.Sprintf("there is no command %q", strings.Join(args, " ")), "`berth help` lists them.")
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// completionShells are those that the library writes scripts for.
var completionShells = []string{"bash", "fish", "powershell", "zsh"}

func completionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script for completion in a shell",
		Long: `Prints the script that makes a shell complete commands, flags, apps, services and
releases: bash (it needs the package bash-completion), fish, powershell or zsh.`,
		Example: `  source <(berth completion bash)
  berth completion bash > /etc/bash_completion.d/berth
  berth completion zsh > "${fpath[1]}/_berth"
  berth completion fish > ~/.config/fish/completions/berth.fish`,
		Args:      takes(1, 1),
		ValidArgs: completionShells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			case "zsh":
				return root.GenZshCompletion(out)
			}
			return usage(fmt.Sprintf("there is no script for the shell %q", args[0]), "Write one of "+strings.Join(completionShells, ", ")+".")
		},
	}
}
