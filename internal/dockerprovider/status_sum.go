package dockerprovider

import (
	"cmp"

	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// severity orders states, the worst first.
var severity = map[provider.InstanceState]int{
	provider.StateFailed: 0, provider.StateDestroying: 1, provider.StateProvisioning: 2, provider.StateStarting: 3,
	provider.StateStopping: 4, provider.StateStopped: 5, provider.StateRunning: 6,
}

func worse(a, b provider.InstanceState) bool { return severity[a] < severity[b] }

// sum says where the instance as a whole is.
func (v *viewed) sum(st *provider.InstanceStatus, ready bool) {
	v.worst(st)
	attempt := v.record.Attempt(v.record.RolloutAttempt)
	serving := v.serving()
	arrived := serving != nil && serving.Number == v.record.Target
	switch {
	case v.world.Desired.Stopped:
		v.sumStopped(st)
	case attempt != nil && attempt.State == store.AttemptFailed && !(arrived && ready && v.complete()):
		st.State, st.Message = provider.StateFailed, attempt.Message
		st.Reason = reasonOf(application.Reason(attempt.Reason))
		if serving != nil {
			st.Reason = provider.ReasonRolloutFailed
		}
	case !arrived && serving != nil || arrived && attempt != nil && !attempt.State.Final():
		st.State, st.Reason, st.Message = provider.StateStarting, provider.ReasonRollingOut, v.plan.Condition.Message
	case !arrived:
		v.sumFirst(st)
	case ready && v.complete():
		st.State, st.Ready, st.Reason, st.Message = provider.StateRunning, true, "", ""
	case (st.State == provider.StateRunning || st.State == provider.StateStopped) && st.Reason == "": // all there is is well, and traffic does not go there yet
		st.State, st.Reason, st.Message = provider.StateStarting, provider.ReasonWaitingForReady, v.plan.Condition.Message
	}
}

// complete reports whether traffic goes to as many groups as are wanted, and
// none that is to go is left.
func (v *viewed) complete() bool {
	a := v.world.Active
	return a != nil && len(a.Targets) == v.world.Desired.Replicas
}

// worst takes state, reason and message from the worst service. Inits that ended
// well do not count.
func (v *viewed) worst(st *provider.InstanceStatus) {
	st.State = provider.StateRunning
	shown, _ := v.shown()
	first := true
	for _, m := range shown.Members() {
		s := st.Services[m.Name]
		if m.Role == roleInit && s.Ready {
			continue
		}
		if first || worse(s.State, st.State) {
			st.State, st.Reason, st.Message = s.State, s.Reason, s.Message
			first = false
		}
	}
}

func (v *viewed) sumStopped(st *provider.InstanceStatus) {
	st.State, st.Reason, st.Message = provider.StateStopped, provider.ReasonStopped, "stopped; containers and volumes are kept"
	for i := range v.world.Groups {
		if v.world.Groups[i].Running() {
			st.State, st.Reason, st.Message = provider.StateStopping, "", "containers are being stopped"
		}
	}
}

// sumFirst is about a first release on its way.
func (v *viewed) sumFirst(st *provider.InstanceStatus) {
	if st.State == provider.StateRunning || st.State == provider.StateStopped {
		st.State, st.Reason = provider.StateStarting, provider.ReasonWaitingForReady
	}
	if len(v.world.Groups) == 0 {
		st.State = provider.StateProvisioning
	}
	planned := application.Reason(v.plan.Condition.Reason)
	if planned == application.ReasonPullingImage || planned == application.ReasonResolvingImage {
		st.State, st.Reason = provider.StateProvisioning, provider.ReasonPulling
	}
	if st.Reason != provider.ReasonVolumeInUse {
		st.Message = cmp.Or(v.plan.Condition.Message, st.Message)
	}
}

// reasonOf is the planner's reason for a failure in the provider's words.
func reasonOf(r application.Reason) provider.Reason {
	switch r {
	case application.ReasonImageNotFound, application.ReasonImageDenied, application.ReasonImagePullFailed:
		return provider.ReasonImageUnavailable
	case application.ReasonReadinessFailed, application.ReasonCutoverTimeout:
		return provider.ReasonReadyTimeout
	case application.ReasonInitFailed:
		return provider.ReasonInitFailed
	case application.ReasonExited, application.ReasonExitedStable:
		return provider.ReasonExited
	case application.ReasonOOMKilled, application.ReasonOOMStable:
		return provider.ReasonOutOfMemory
	case application.ReasonCrashLoop:
		return provider.ReasonCrashLoop
	case application.ReasonVolumeInUse:
		return provider.ReasonVolumeInUse
	case application.ReasonSecretMissing:
		return provider.ReasonSecretMissing
	case application.ReasonNetworkFailed, application.ReasonPortInUse:
		return provider.ReasonNoCapacity
	}
	return provider.ReasonStartFailed
}
