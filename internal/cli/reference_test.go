package cli

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const referenceFile = "../../docs/reference/cli.md"

// UPDATE=1 writes the reference anew.
func TestTheReferenceIsCurrent(t *testing.T) {
	got := reference()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(referenceFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/reference/cli.md is not what the commands say: run UPDATE=1 go test ./internal/cli -run Reference")
	}
}

func TestEveryCommandHasHelpAndAnExample(t *testing.T) {
	a := &app{}
	for _, cmd := range withSubcommands(a.root().Commands()) {
		if cmd.Short == "" || cmd.Long == "" {
			t.Errorf("%s does not say what it does", cmd.Name())
		}
		if cmd.Runnable() && cmd.Example == "" && !cmd.HasSubCommands() {
			t.Errorf("%s has no example", cmd.Name())
		}
		for _, line := range strings.Split(cmd.Long+"\n"+cmd.Example, "\n") {
			if len(line) > 84 {
				t.Errorf("%s: a line of its help is %d wide: %s", cmd.Name(), len(line), line)
			}
		}
	}
}

// withSubcommands puts what is below a command behind it.
func withSubcommands(commands []*cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, cmd := range commands {
		out = append(append(out, cmd), withSubcommands(cmd.Commands())...)
	}
	return out
}

// reference is the page, made from the commands themselves.
func reference() []byte {
	a := &app{}
	root := a.root()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# berth: the command line\n\nMade from the commands by `UPDATE=1 go test ./internal/cli -run Reference`.\n\n%s\n\n```\n%s\n```\n\n", root.Long, root.Example)
	fmt.Fprintf(&b, "Options of every command:\n\n%s\n", flagTable(root.PersistentFlags()))
	var topics []*cobra.Command
	for _, cmd := range withSubcommands(root.Commands()) {
		if !cmd.Runnable() {
			topics = append(topics, cmd)
			continue
		}
		fmt.Fprintf(&b, "## %s %s\n\n%s.\n\n%s\n\n", cmd.Parent().CommandPath(), cmd.Use, cmd.Short, cmd.Long)
		if cmd.Example != "" {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", cmd.Example)
		}
		if cmd.LocalFlags().HasFlags() {
			fmt.Fprintf(&b, "%s\n", flagTable(cmd.LocalFlags()))
		}
	}
	slices.SortFunc(topics, func(x, y *cobra.Command) int { return strings.Compare(x.Name(), y.Name()) })
	for _, cmd := range topics {
		fmt.Fprintf(&b, "## %s\n\n```\n%s\n```\n\n", cmd.Short, cmd.Long)
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

func flagTable(flags *pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("| option | default | |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value := f.DefValue
		if value == "false" {
			value = ""
		}
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, value, f.Usage)
	})
	return b.String()
}
