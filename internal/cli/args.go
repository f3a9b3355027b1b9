package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// anyNumber of arguments.
const anyNumber = math.MaxInt

// takes refuses fewer or more arguments than a command's use line names, and empty ones,
// which name nothing.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		names := strings.TrimSpace(strings.TrimPrefix(cmd.Use, cmd.Name()))
		switch {
		case len(args) < least:
			return fmt.Errorf("%s needs %s", cmd.CommandPath(), names)
		case len(args) > most && most == 0:
			return fmt.Errorf("%s takes no argument, and %q is one", cmd.CommandPath(), args[0])
		case len(args) > most:
			return fmt.Errorf("%q is one argument too many: write %s %s", args[most], cmd.CommandPath(), names)
		case slices.Contains(args, ""):
			return fmt.Errorf("an argument is empty: write %s %s", cmd.CommandPath(), names)
		}
		return nil
	}
}

// appTarget refuses APP/SERVICE where an app alone is meant.
func appTarget(cmd *cobra.Command, s string) (string, error) {
	app, _, slash := strings.Cut(s, "/")
	if slash && app != "" {
		return "", usage(fmt.Sprintf("%q names a service, not an app", s), fmt.Sprintf("Write `%s %s`.", cmd.CommandPath(), app))
	}
	return s, nil
}

// badFlag words the value of a flag that is not of its kind; the library names
// the Go function that refused it.
func badFlag(_ *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	kind := "not one it can have"
	switch bad.GetFlag().Value.Type() {
	case "int":
		kind = "not a whole number"
	case "NAME=VALUE":
		kind = "not a name, = and a value"
	case "bool":
		kind = "neither true nor false"
	}
	return fmt.Errorf("--%s %s: this is %s", bad.GetFlag().Name, bad.GetValue(), kind)
}
