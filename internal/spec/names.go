package spec

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

const (
	// MaxNameBytes bounds the name of an app, a service or a volume.
	MaxNameBytes = 48
	// MaxFullNameBytes bounds app + "-" + service: a container's name adds a
	// hash and a replica to it and is a host name too, of at most 63 bytes.
	MaxFullNameBytes = 50
)

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// FullName is the name of a service among those of all apps.
func FullName(app, service string) string { return app + "-" + service }

// ShortName is the name of a service in its app; it undoes [FullName].
func ShortName(app, full string) string { return strings.TrimPrefix(full, app+"-") }

// CheckName says whether an app, a service or a volume may have a name.
func CheckName(name string) error {
	switch {
	case name == "":
		return yamlfile.Advise("the name is empty", "write lower-case letters, digits and dashes")
	case len(name) > MaxNameBytes:
		return yamlfile.Advise(fmt.Sprintf("the name has %d characters", len(name)),
			fmt.Sprintf("the most is %d", MaxNameBytes))
	case !nameForm.MatchString(name):
		return yamlfile.Advise(yamlfile.Quote(name)+" is not a name",
			"write lower-case letters, digits and dashes, a letter first"+nameSuggestion(name))
	case strings.HasSuffix(name, "-"):
		return yamlfile.Advise(yamlfile.Quote(name)+" ends in a dash", "write "+strings.TrimRight(name, "-"))
	}
	return nil
}

// CheckFullName says whether an app and a service fit together.
func CheckFullName(app, service string) error {
	full := FullName(app, service)
	if len(full) <= MaxFullNameBytes {
		return nil
	}
	return yamlfile.Advise(fmt.Sprintf("the full name %s has %d characters", full, len(full)),
		fmt.Sprintf("app and service together may have %d, the dash between them included", MaxFullNameBytes))
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// nameSuggestion offers the nearest name that would do.
func nameSuggestion(name string) string {
	near := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-0123456789")
	if near == "" || !nameForm.MatchString(near) {
		return ""
	}
	return ", for example " + near
}

var envNameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

const maxEnvNameBytes = 255

// checkEnvName holds the names that shells and programs can read. Dots and
// dashes are let through: some servers take their settings from such names.
func checkEnvName(name string) error {
	switch {
	case len(name) > maxEnvNameBytes:
		return yamlfile.Advise(fmt.Sprintf("the name has %d characters", len(name)),
			fmt.Sprintf("the most is %d", maxEnvNameBytes))
	case !envNameForm.MatchString(name):
		return yamlfile.Advise(yamlfile.Quote(name)+" is not the name of an environment variable",
			"write letters, digits and _, no digit first")
	}
	return nil
}
