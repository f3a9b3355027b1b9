package group

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-cloud/berth/internal/reconcile"
)

// The conditions of a group, beside reconcile.ConditionReady: all of its machines are
// there, and no others.
const (
	// ConditionUpToDate: none of its machines is to be replaced.
	ConditionUpToDate = "UpToDate"
	// ConditionLaunching: machines can be made.
	ConditionLaunching = "LaunchesWork"
)

// The reasons.
const (
	ReasonReady       = "AllReady"
	ReasonLaunching   = "Launching"
	ReasonComing      = "WaitingForMachines"
	ReasonUnhealthy   = "MachinesUnhealthy"
	ReasonDraining    = "Draining"
	ReasonRemoving    = "Removing"
	ReasonSurplus     = "TooMany"
	ReasonAbsent      = "NoSuchGroup"
	ReasonUnknown     = "ConfigurationNotLoaded"
	ReasonCurrent     = "Current"
	ReasonRotating    = "Rotating"
	ReasonHeld        = "MachineHoldsData"
	ReasonBackingOff  = "BackingOff"
	ReasonLaunchesRun = "NoFailure"
)

// unknown is what is said when it is not known what the group is to be.
func unknown() reconcile.Result {
	return reconcile.Result{Conditions: []reconcile.Condition{{
		Type: reconcile.ConditionReady, Status: reconcile.Unknown, Reason: ReasonUnknown,
		Message: "it is not known what the group is to be; nothing is changed until it is",
	}}}
}

func conditions(o *Observed, d *Decision) []reconcile.Condition {
	return []reconcile.Condition{ready(o, &d.Summary), upToDate(&d.Summary), launching(o)}
}

func condition(name string, ok bool, reason, format string, args ...any) reconcile.Condition {
	status := reconcile.False
	if ok {
		status = reconcile.True
	}
	return reconcile.Condition{Type: name, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func ready(o *Observed, s *Summary) reconcile.Condition {
	no := func(reason, format string, args ...any) reconcile.Condition {
		return condition(reconcile.ConditionReady, false, reason, format, args...)
	}
	switch {
	case o.Want.Absent:
		return no(ReasonAbsent, "the group is not in the configuration; %d of its machines are still there", s.Staying+s.Draining+s.Leaving)
	case s.Ready < s.Size && s.Staying < s.Size:
		return no(ReasonLaunching, "%d of %d machines are ready, %d are coming", s.Ready, s.Size, s.Coming)
	case s.Ready < s.Size && s.Coming > 0:
		return no(ReasonComing, "%d of %d machines are ready, %d are coming", s.Ready, s.Size, s.Coming)
	case s.Ready < s.Size:
		return no(ReasonUnhealthy, "%d of %d machines are ready, %d do not answer or do not run", s.Ready, s.Size, s.Unhealthy)
	case s.Staying > s.Size && s.Stale == 0:
		return no(ReasonSurplus, "%d machines are there, %d are wanted", s.Staying, s.Size)
	}
	return condition(reconcile.ConditionReady, true, ReasonReady, "%d of %d machines are ready", s.Ready, s.Size)
}

func upToDate(s *Summary) reconcile.Condition {
	if len(s.Held) > 0 {
		ids := slices.Sorted(maps.Keys(s.Held))
		return condition(ConditionUpToDate, false, ReasonHeld, "machine %s should go and stays: %s (%d such machines)", ids[0], s.Held[ids[0]], len(ids))
	}
	switch {
	case s.Stale > 0:
		return condition(ConditionUpToDate, false, ReasonRotating, "%s to be replaced, one after another: %s", machinesAre(s.Stale), s.Why)
	case s.Draining > 0:
		return condition(ConditionUpToDate, false, ReasonDraining, "%s drained in order to go", machinesAre(s.Draining))
	case s.Leaving > 0:
		return condition(ConditionUpToDate, false, ReasonRemoving, "%s being removed", machinesAre(s.Leaving))
	}
	return condition(ConditionUpToDate, true, ReasonCurrent, "no machine is to be replaced")
}

func machinesAre(n int) string {
	if n == 1 {
		return "1 machine is"
	}
	return fmt.Sprintf("%d machines are", n)
}

func launching(o *Observed) reconcile.Condition {
	if o.Launch.Failures > 0 {
		return condition(ConditionLaunching, false, ReasonBackingOff, "%d launches in a row failed: %s", o.Launch.Failures, o.Launch.Reason)
	}
	return condition(ConditionLaunching, true, ReasonLaunchesRun, "no launch failed lately")
}
