package config

import (
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Bounds of single values.
const (
	maxSize   = 1000     // machines of a group
	maxVar    = 32 << 10 // bytes of a variable's value
	maxVars   = 1000
	maxWord   = 255 // bytes of a provider's word
	maxName   = 32  // characters of an identifier
	maxInline = 64 << 10
)

var (
	identifier = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	variable   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	threeLower = regexp.MustCompile(`^[a-z]{3}$`)
	prefix     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*(/[A-Za-z0-9][A-Za-z0-9-]*)*$`)
	secretName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
)

func (k *checker) identifier(path, s string) {
	switch {
	case s == "":
		k.bad(path, "this is missing")
	case len(s) > maxName || !identifier.MatchString(s) || strings.Contains(s, "--"):
		k.bad(path, "%q has to be 1 to %d lower-case letters, digits and single dashes inside", clip(s), maxName)
	}
}

func (k *checker) key(path string, key GroupKey) {
	k.identifier(path, key.Tenant)
	k.identifier(path, key.Group)
}

// word is a word of the provider's, or empty.
func (k *checker) word(path, s string) {
	if len(s) > maxWord || strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) {
		k.bad(path, "this has to be at most %d bytes that print", maxWord)
	}
}

func (k *checker) oneOf(path, s string, words ...string) {
	if !slices.Contains(words, s) {
		k.bad(path, "%q has to be one of %s", clip(s), strings.Join(words, ", "))
	}
}

func (k *checker) size(path string, size *int) {
	if size != nil && (*size < 0 || *size > maxSize) {
		k.bad(path, "%d has to be 0 to %d", *size, maxSize)
	}
}

func (k *checker) vars(path string, vars map[string]string) {
	if len(vars) > maxVars {
		k.bad(path, "%d variables; %d are the most", len(vars), maxVars)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		value := vars[name]
		if !variable.MatchString(name) {
			k.bad(join(path, name), "a variable's name has to be letters, digits and _, at most 128, with no digit first")
		}
		if len(value) > maxVar || strings.ContainsRune(value, 0) {
			k.bad(join(path, name), "a value has to be at most %d bytes, without a zero byte", maxVar)
		}
	}
}

// pool is a subnet pool that there is. The caller knows whether one is needed.
func (k *checker) pool(path, pool string, pools map[string][]string) {
	if _, ok := pools[pool]; !ok {
		k.bad(path, "there is no subnet pool %q; there are %s", clip(pool), names(pools))
	}
}

// within checks a duration. 0 passes when off is true.
func (k *checker) within(path string, d Duration, off bool, low, high time.Duration) {
	if off && d == 0 || d.Std() >= low && d.Std() <= high {
		return
	}
	zero := ""
	if off {
		zero = ", or 0"
	}
	k.bad(path, "%v has to be %v to %v%s", d, low, high, zero)
}

func (k *checker) address(path, s string) {
	host, port, err := net.SplitHostPort(s)
	if err == nil && host != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
			return
		}
	}
	k.bad(path, "%q has to be host:port, such as 10.0.0.5:8992", clip(s))
}

// names are the keys of a map for a message.
func names[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
