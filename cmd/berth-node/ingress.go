package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"

	"github.com/berth-cloud/berth/internal/flaglist"
	"github.com/berth-cloud/berth/internal/ingress/process"
)

func ingress(ctx context.Context, args []string, stderr io.Writer) int {
	o, level, err := ingressFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "berth-node ingress: %v\n", err)
		return exitUsage
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	if o.BootID, err = process.BootID(); err != nil {
		log.Warn("stored routes are held until their owner pushes them again", "error", err)
	}
	if err := process.Run(ctx, log, o); err != nil {
		_, _ = fmt.Fprintf(stderr, "berth-node ingress: %v\n", err)
		return exitError
	}
	return exitOK
}

func ingressFlags(args []string, stderr io.Writer) (process.Options, slog.Level, error) {
	o := process.Options{Build: build()}
	var level slog.Level
	f := flag.NewFlagSet("berth-node ingress", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.Dir, "dir", "", "`directory` for the stored routes and the lock (required)")
	f.Var((*flaglist.List)(&o.HTTP), "http", "`addresses` to serve HTTP on, separated by commas (required), :80 for example")
	f.StringVar(&o.Control, "control", "", "`path` of the Unix socket for the control plane (required)")
	var proxies []string
	f.Var((*flaglist.List)(&proxies), "trusted-proxies", "`CIDRs` of proxies in front whose X-Forwarded-* and X-Request-Id are believed")
	f.BoolVar(&o.TakeOver, "take-over", false, "have a data plane that runs already hand over its sockets and drain")
	f.DurationVar(&o.StopTimeout, "stop-timeout", process.DefaultStopTimeout, "how long requests may go on after SIGTERM or a takeover")
	f.TextVar(&level, "log-level", slog.LevelInfo, "debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		return o, level, err
	}
	if f.NArg() > 0 {
		return o, level, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	switch {
	case o.Dir == "":
		return o, level, errors.New("--dir is required")
	case len(o.HTTP) == 0:
		return o, level, errors.New("--http is required")
	case o.Control == "":
		return o, level, errors.New("--control is required")
	}
	var err error
	o.Proxy.TrustedProxies, err = parsePrefixes(proxies)
	return o, level, err
}

func parsePrefixes(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, part := range list {
		if p, err := netip.ParsePrefix(part); err == nil {
			out = append(out, p.Masked())
			continue
		}
		a, err := netip.ParseAddr(part)
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxies: %q is neither an address nor a CIDR such as 10.0.0.0/8", part)
		}
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out, nil
}
