package manifest

import (
	"regexp"
	"strings"
)

var (
	envForm = regexp.MustCompile(`^[A-Za-z_.-][A-Za-z0-9_.-]*$`)

	// reservedEnv are variables by which a program is made to run something else, or
	// that the platform sets. A program may look one up in any case.
	reservedEnv = regexp.MustCompile(`(?i)^(PATH$|LD_|FRED_|BERTH_|DOCKER_)`)

	labelForm = regexp.MustCompile(`^[!#-&(-+\--<>-~]+$`) // printable, without blank " ' , =

	// reservedLabels are those by which containers are owned, and by which a proxy
	// that watches the engine would route. Both are read in any case.
	reservedLabels = regexp.MustCompile(`(?i)^(berth|fred|traefik)\.`)

	printableForm = regexp.MustCompile(`^[ -~]*$`)
)

func (r *reader) env(at *place, n *node) map[string]string {
	out := map[string]string{}
	r.entries(at, n, MaxEnv, func(at *place, name string, n *node) {
		switch {
		case len(name) > maxName || !envForm.MatchString(name):
			r.add(at, "is no name of a variable: letters, digits and _.-, not beginning with a digit, at most %d", maxName)
		case reservedEnv.MatchString(name):
			r.add(at, "is not a variable that a tenant sets: PATH and what begins with LD_, BERTH_, FRED_ or DOCKER_ is taken; use another name")
		}
		value, ok := r.text(at, n)
		if ok && (len(value) > maxEnvValue || strings.ContainsRune(value, 0)) {
			r.add(at, "has a value with a NUL in it, or with more than %d bytes", maxEnvValue)
		}
		out[name] = value
	})
	return out
}

func (r *reader) labels(at *place, n *node) map[string]string {
	out := map[string]string{}
	r.entries(at, n, MaxLabels, func(at *place, name string, n *node) {
		switch {
		case len(name) > maxName || !labelForm.MatchString(name):
			r.add(at, "is no name of a label: 1 to %d printable characters without blanks, quotes, commas and =", maxName)
		case reservedLabels.MatchString(name):
			r.add(at, "is not a label that a tenant sets: what begins with berth., fred. or traefik. is taken; use another name")
		}
		value, ok := r.text(at, n)
		if ok && (len(value) > maxLabelValue || !printableForm.MatchString(value)) {
			r.add(at, "has a value that is not at most %d printable characters of ASCII", maxLabelValue)
		}
		out[name] = value
	})
	return out
}
