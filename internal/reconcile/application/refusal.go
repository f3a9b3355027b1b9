package application

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// patience is how many passes in a row an effect may end before its attempt is
// given up, for reasons that could pass.
const patience = 5

// refused decides whether an action that failed can succeed later. What
// cannot is remembered, and the next plan ends the attempt with it.
func (c *Controller) refused(w *World, a Action, err error) error {
	if on := cmp.Or(a.Container, a.Volume); on != "" {
		err = fmt.Errorf("%s %s: %w", a.Kind, on, err)
	}
	reason := refusal(a.Kind, err)
	if buildGone(&a, err) {
		reason = ReasonImageNotFound
	}
	if c.recovers(err) {
		return fmt.Errorf("a node of it is back since a moment: %w", err)
	}
	if reason == "" && !elsewhere(err) && c.memory.noteError(c.service) >= patience {
		reason = lastingReason(a.Kind)
		if errors.Is(err, store.ErrSubnetFull) {
			reason = ReasonNetworkFailed
		}
	}
	if reason == "" || w.Attempt == nil || w.Attempt.State.Final() {
		return err
	}
	c.memory.noteFailure(c.service, w.Desired.AttemptID, &Failure{Reason: reason, Detail: explainRefusal(&a, err)})
	return err
}

// recovers reports whether an error may pass by itself, as a node of the service has only
// come back.
func (c *Controller) recovers(err error) bool {
	return c.recovering && (docker.IsNotFound(err) || docker.IsUnavailable(err) || errors.Is(err, docker.ErrAddressInUse) || errors.Is(err, docker.ErrInvalid))
}

// buildGone reports whether a release cannot be made any more: its image was built
// on this machine, and no registry has it.
func buildGone(a *Action, err error) bool {
	return a.Kind == ActCreate && a.Release != nil && !errors.Is(err, ErrHeld) && memberImage(a.Release, a.Member, specOf(a.Release, a.Member).Role).Local && docker.IsImageNotFound(err)
}

// ErrHeld is what an engine under a controller says of an effect that waits for
// something that is not the service's. However long that takes, it is no failure.
var ErrHeld = errors.New("held")

// ErrVolumeInUse is what it says of a volume that was waited for in vain.
var ErrVolumeInUse = errors.New("volume in use")

var (
	errNameTaken = errors.New("container name taken")
	errHostPath  = errors.New("cannot mount host path")
)

// elsewhere reports whether an effect failed for want of what every service
// needs, or because its pass was called off: which says nothing about it.
func elsewhere(err error) bool {
	return docker.IsUnavailable(err) || errors.Is(err, ErrHeld) || errors.Is(err, errStore) || errors.Is(err, context.Canceled)
}

// refusal is the reason of an error that no repetition helps, or "".
func refusal(kind ActionKind, err error) Reason {
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return ""
	case errors.Is(err, errNameTaken):
		return ReasonNameTaken
	case errors.Is(err, errHostPath):
		return ReasonHostPathRefused
	case errors.Is(err, docker.ErrPortInUse):
		return ReasonPortInUse
	case errors.Is(err, ErrVolumeInUse):
		return ReasonVolumeInUse
	case errors.Is(err, docker.ErrInvalid):
		return lastingReason(kind)
	}
	return ""
}

func lastingReason(kind ActionKind) Reason {
	switch kind {
	case ActCreate, ActFill:
		return ReasonCreateFailed
	case ActStart:
		return ReasonStartFailed
	case ActEnsureNetwork:
		return ReasonNetworkFailed
	case ActEnsureVolume:
		return ReasonVolumeFailed
	case ActPull, ActWriteRelease, ActSetRestart, ActSetActive, ActStop, ActRemove, ActFreeAddress, ActAttempt, ActNoteRetry, ActRemoveVolume:
	}
	return ""
}

// execFailure is how engines word that a container's program could not be run.
var execFailure = regexp.MustCompile(`exec: "([^"]+)": (.+?)(?:: unknown)?$`)

// explainRefusal words why an effect cannot succeed and what to do about it.
func explainRefusal(a *Action, err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, docker.ErrPortInUse):
		return fmt.Sprintf("container %s cannot start: %s is taken by another program on this machine; free it, or publish another host_port (%s)",
			a.Container, takenPort(a, text), text)
	case buildGone(a, err):
		img := memberImage(a.Release, a.Member, specOf(a.Release, a.Member).Role)
		return fmt.Sprintf("the image of %s, %s as it was built on this machine then (%s), is gone, and no registry has it; build what you want to run and apply it",
			a.Release.ID, img.Image, shortID(img.ImageID))
	case errors.Is(err, store.ErrSubnetFull):
		return fmt.Sprintf("no address is left for container %s: the network of an app has room for 253 containers, old and new counted together; change fewer services at once, or ask for fewer replicas",
			a.Container)
	case a.Kind == ActEnsureVolume && docker.IsConflict(err):
		return fmt.Sprintf("volume %s exists and is not this Berth's (%s); remove it or name the volume differently; "+
			"to keep what is in it, copy it into the one that is made then", a.Volume, text)
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
		for _, p := range specOf(a.Release, a.Member).Publish {
			if regexp.MustCompile(fmt.Sprintf(`:%d\b`, p.HostPort)).MatchString(text) {
				return fmt.Sprintf("host port %d", p.HostPort)
			}
		}
	}
	return "a published host port"
}

func explainExec(program, why string) string {
	const check = "check its command, and what the image runs by itself"
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
