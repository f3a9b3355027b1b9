package spec

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
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
	if utf8.RuneCountInString(*s) <= maxQuoted {
		return strconv.Quote(*s)
	}
	return fmt.Sprintf("%s (%d bytes, sha256 %.4x)", quote(*s), len(*s), sha256.Sum256([]byte(*s)))
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
	s := "GET " + p.Path
	if p.Port != 0 {
		s += " on port " + strconv.Itoa(p.Port)
	}
	return fmt.Sprintf("%s every %s within %s, expecting %s", s, FormatDuration(p.Interval), FormatDuration(p.Timeout), p.ExpectedStatus)
}

func formatVolume(v *Volume) string {
	if v == nil {
		return ""
	}
	s := "volume " + v.Name
	if v.Name == "" {
		s = "host path " + v.HostPath
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
	if p == nil {
		return ""
	}
	s := "port " + strconv.Itoa(p.Port) + " on loopback"
	if p.Public {
		s = "port " + strconv.Itoa(p.Port) + " to everyone"
	}
	return s
}
