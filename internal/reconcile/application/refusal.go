package application

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// execFailure is how engines word that a container's program could not be run.
var execFailure = regexp.MustCompile(`exec: "([^"]+)": (.+?)(?:: unknown)?$`)

// explainRefusal words why an effect cannot succeed and what to do about it.
func explainRefusal(a *Action, err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, docker.ErrPortInUse):
		return fmt.Sprintf("container %s cannot start: %s is taken by another program on this machine; free it, or publish another host_port (%s)",
			a.Container, takenPort(a, text), text)
	case a.Kind == ActStart:
		if m := execFailure.FindStringSubmatch(text); m != nil {
			return fmt.Sprintf("container %s cannot start: %s (%s)", a.Container, explainExec(m[1], m[2]), m[0])
		}
	}
	return text
}

// takenPort names the published port that an engine's error is about.
func takenPort(a *Action, text string) string {
	if a.Release != nil {
		for _, p := range a.Release.Spec.Publish {
			if regexp.MustCompile(fmt.Sprintf(`:%d\b`, p.HostPort)).MatchString(text) {
				return fmt.Sprintf("host port %d", p.HostPort)
			}
		}
	}
	return "a published host port"
}

func explainExec(program, why string) string {
	const check = "check command in app.yaml, and what the image runs by itself"
	switch {
	case strings.Contains(why, "executable file not found"), strings.Contains(why, "no such file"):
		return fmt.Sprintf("its image has no program %q; %s", program, check)
	case strings.Contains(why, "permission denied"):
		return fmt.Sprintf("%q in its image is not executable; %s", program, check)
	case strings.Contains(why, "exec format error"):
		return fmt.Sprintf("%q in its image is made for another kind of processor; use an image for this one", program)
	}
	return fmt.Sprintf("its program %q cannot be run; %s", program, check)
}
