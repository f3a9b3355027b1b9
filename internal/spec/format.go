package spec

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// The functions here write values for people, in the words of app.yaml. What
// is not there is "".

func formatCount(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func formatLimit(n int64, format func(int64) string) string {
	if n == 0 {
		return ""
	}
	return format(n)
}

// formatText quotes a text; a long one is shortened, and then told from others
// that begin alike by its hash.
func formatText(s *string) string {
	if s == nil {
		return ""
	}
	if utf8.RuneCountInString(*s) <= yamlfile.MaxQuoted {
		return strconv.Quote(*s)
	}
	return fmt.Sprintf("%s (%d bytes, sha256 %.4x)", yamlfile.Quote(*s), len(*s), sha256.Sum256([]byte(*s)))
}

func formatCommand(words []string) string {
	if len(words) == 0 {
		return ""
	}
	quoted := make([]string, len(words))
	for i := range words {
		quoted[i] = formatText(&words[i])
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func formatProbe(p *Probe) string {
	if p == nil {
		return ""
	}
	s := p.asks()
	if p.Port != 0 {
		s += " on port " + strconv.Itoa(p.Port)
	}
	s += fmt.Sprintf(" every %s within %s", FormatDuration(p.Interval), FormatDuration(p.Timeout))
	if p.Path != "" {
		s += ", expecting " + cmp.Or(p.ExpectedStatus, DefaultExpected)
	}
	if p.Failures != 0 {
		s += fmt.Sprintf(", up to %d failures in a row", p.Failures)
	}
	return s
}

// asks is how a probe asks.
func (p *Probe) asks() string {
	switch {
	case len(p.Exec) > 0:
		return "run " + formatCommand(p.Exec)
	case p.GRPC:
		return "gRPC health of " + formatGRPC(p)
	case p.Path != "":
		return "GET " + p.Path
	}
	return "connect"
}

func formatGRPC(p *Probe) string {
	switch {
	case !p.GRPC && p.GRPCService == "":
		return ""
	case p.GRPCService == "":
		return "the server"
	case !p.GRPC:
		return "no service " + yamlfile.Quote(p.GRPCService)
	}
	return "the service " + yamlfile.Quote(p.GRPCService)
}

func formatFlag(on bool) string {
	if on {
		return "true"
	}
	return ""
}

func formatRestart(r Restart) string { return cmp.Or(string(r), "always") }

// formatVariable quotes a plain value, and names where a secret one comes from.
func formatVariable(e *EnvVar) string {
	if e == nil {
		return ""
	}
	if e.Secret.Key != "" {
		return formatSecret(e.Secret)
	}
	return formatText(&e.Value)
}

func formatSecret(r SecretRef) string {
	s := "secret " + r.Key
	if r.Version != 0 {
		s += " (version " + strconv.FormatInt(r.Version, 10) + ")"
	}
	if r.Optional {
		s += ", not required"
	}
	return s
}

func formatTmpfs(t *Tmpfs) string {
	switch {
	case t == nil:
		return ""
	case t.SizeBytes == 0:
		return "in memory"
	}
	return "in memory, at most " + FormatBytes(t.SizeBytes)
}

func formatFile(f *File) string {
	if f == nil {
		return ""
	}
	return formatSecret(f.Secret)
}

func formatVolume(v *Volume) string {
	if v == nil {
		return ""
	}
	s := "volume " + v.Name
	if v.Name == "" {
		s = "host path " + v.HostPath
	}
	if len(v.IDs) > 0 {
		s += " as " + strings.Join(v.IDs, ", ")
	}
	if v.ReadOnly {
		s += ", read-only"
	}
	if v.Shared {
		s += ", shared"
	}
	return s
}

func formatPublished(p *PublishedPort) string {
	switch {
	case p == nil:
		return ""
	case p.Address != "":
		return "port " + strconv.Itoa(p.Port) + " on " + p.Address
	case p.Public:
		return "port " + strconv.Itoa(p.Port) + " to everyone"
	}
	return "port " + strconv.Itoa(p.Port) + " on loopback"
}

// where names the port of the host; one that the engine chooses is named by
// where it leads.
func (p *PublishedPort) where() string {
	s := strconv.Itoa(p.HostPort)
	if !p.Pinned() {
		s = "any, to " + strconv.Itoa(p.Port)
	}
	if p.Address != "" {
		s = p.Address + ":" + s
	}
	if p.Protocol != "" {
		s += "/" + p.Protocol
	}
	return s
}
