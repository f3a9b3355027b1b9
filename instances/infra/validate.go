package infra

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/berth-cloud/berth/id"
)

// Bounds of a request. A kind of provider may have lower ones and then answers
// ErrInvalidRequest.
const (
	MaxUserData = 256 << 10 // bytes
	MaxToken    = 64        // characters, printable ASCII
	MaxTags     = 32        // of a request's own
	MaxTagKey   = 63        // characters
	MaxTagValue = 255       // bytes
	MaxArgs     = 256 << 10 // bytes of JSON
	MaxWord     = 255       // bytes of an instance type or subnet
	maxName     = 32
)

var (
	identifier = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	tagKey     = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
)

func checkIdentifier(what, name string) error {
	if len(name) > maxName || !identifier.MatchString(name) || strings.Contains(name, "--") {
		return invalid("the %s %q is not 1 to %d lower-case letters, digits and single dashes inside", what, clip(name), maxName)
	}
	return nil
}

// CheckInstanceID is ErrInvalidRequest unless s is an id in its one spelling.
func CheckInstanceID(s string) error {
	if _, err := id.Parse(s); err != nil {
		return invalid("instance id: %w", err)
	}
	return nil
}

// Validate checks what holds for every kind of provider, and is
// ErrInvalidRequest. No message repeats user data or args.
func (r CreateInstanceRequest) Validate() error {
	if err := r.Owner().Validate(); err != nil {
		return err
	}
	if err := checkIdentifier("group", r.Group); err != nil {
		return err
	}
	if err := checkIdentifier("template", r.Template); err != nil {
		return err
	}
	if _, err := id.ParseKind(r.InstanceID, r.InstanceKind); err != nil {
		return invalid("instance id: %w", err)
	}
	if n := r.UserData.Len(); n > MaxUserData {
		return invalid("user data of %d bytes; %d are the most", n, MaxUserData)
	}
	for _, word := range [][2]string{{"instance type", r.InstanceType}, {"subnet", r.SubnetID}} {
		if len(word[1]) > MaxWord || !printable(word[1]) {
			return invalid("the %s is longer than %d bytes or has characters that do not print", word[0], MaxWord)
		}
	}
	token := r.Token()
	if len(token) > MaxToken || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return invalid("the idempotency token is not at most %d printable ASCII characters", MaxToken)
	}
	if raw, err := json.Marshal(r.Args); err != nil {
		return invalid("args hold something that is no JSON")
	} else if len(raw) > MaxArgs {
		return invalid("args of %d bytes; %d are the most", len(raw), MaxArgs)
	}
	return r.validateTags()
}

func (r CreateInstanceRequest) validateTags() error {
	if len(r.CustomTags) > MaxTags {
		return invalid("%d tags; %d are the most", len(r.CustomTags), MaxTags)
	}
	for _, key := range slices.Sorted(maps.Keys(r.CustomTags)) {
		value := r.CustomTags[key]
		switch {
		case strings.HasPrefix(key, TagPrefix):
			return invalid("tag %q: what begins with %q is not the request's to set", clip(key), TagPrefix)
		case len(key) > MaxTagKey || !tagKey.MatchString(key):
			return invalid("tag %q is not a letter and then lower-case letters, digits, '-' and '_', %d at most", clip(key), MaxTagKey)
		case len(value) > MaxTagValue || !printable(value):
			return invalid("the value of tag %q is longer than %d bytes or has characters that do not print", key, MaxTagValue)
		}
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })
}

// clip keeps a message about a long text short.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
