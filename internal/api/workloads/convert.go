package workloads

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/rollout"
)

func version(n int64) string { return fmt.Sprintf("v%d", n) }

// wireRollout is a rollout for the API; base is the release that served before it,
// as far as it is known.
func (s *Service) wireRollout(ctx context.Context, of row, r *rollout.Rollout, base *rollout.Release) *wire.WorkloadRollout {
	names := labelsOf(of, r)
	text := func(message string, release id.ID) string { return s.trouble(ctx, of, message, release, names) }
	out := &wire.WorkloadRollout{
		ID: r.ID.String(), Number: r.Number, Kind: string(r.Kind), Release: version(r.ReleaseVersion), Strategy: r.Strategy,
		State: string(r.State), Phase: string(r.Phase), Cancelling: r.CancelWanted, Services: []wire.WorkloadProgress{},
		Failure: wireFailure(r.Failure, r.Release, text), UndoFailure: wireFailure(r.UndoFailure, r.Base, text), Initiator: r.Initiator,
		CreatedAt: r.CreatedAt, EndedAt: at(r.EndedAt), Deadline: r.Deadline,
	}
	if base != nil && base.ID == r.Base {
		out.Base = version(base.Version)
	}
	if r.LastError != nil {
		out.LastError = text(r.LastError.Message, r.Release)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Services)) {
		p := r.Services[name]
		message := text(p.Message, r.Release)
		if message != "" && r.Failure != nil && lacksSecret(r.Failure.Message) {
			message = s.secretText(ctx, of, message, r.Release)
		}
		out.Services = append(out.Services, wire.WorkloadProgress{Service: name, State: string(p.State), Message: message})
	}
	return out
}

func wireFailure(f *rollout.Failure, of id.ID, text func(string, id.ID) string) *wire.WorkloadFailure {
	if f == nil {
		return nil
	}
	return &wire.WorkloadFailure{Code: f.Code, Message: text(f.Message, of)}
}

func wireRelease(r, current *rollout.Release) wire.WorkloadRelease {
	out := wire.WorkloadRelease{
		Version: version(r.Version), ID: r.ID.String(), Hash: r.Hash, Images: map[string]string{}, Current: current != nil && current.ID == r.ID,
		CreatedAt: r.CreatedAt, ServedAt: at(r.ServedAt), Initiator: r.Initiator, Notes: r.Notes,
	}
	for _, svc := range r.Services {
		out.Images[svc.Name] = svc.Image
	}
	return out
}

// observed takes over what a provider says. text puts its messages into words, by
// their reasons.
func observed(out *wire.WorkloadStatus, st *provider.InstanceStatus, text func(provider.Reason, string) string) {
	out.State, out.Ready, out.Available = string(st.State), st.Ready, st.Available
	out.Reason, out.Message, out.Restarts, out.StartedAt = string(st.Reason), text(st.Reason, st.Message), st.Restarts, at(st.StartedAt)
	for _, e := range st.Endpoints {
		out.Endpoints = append(out.Endpoints, wire.WorkloadEndpoint{
			Service: e.ServiceName, URL: e.URL, Port: e.Port, Protocol: e.Protocol, Public: e.Public, Replica: e.Replica,
		})
	}
}

func observedService(out *wire.WorkloadService, st provider.ServiceStatus, text func(provider.Reason, string) string) {
	if st.State != "" {
		out.State = string(st.State)
	}
	out.Ready, out.Restarts, out.Reason, out.Message = st.Ready, st.Restarts, string(st.Reason), text(st.Reason, st.Message)
	for _, r := range st.Replicas {
		out.Replicas = append(out.Replicas, wire.WorkloadReplica{
			Replica: r.Replica, State: string(r.State), Ready: r.Ready, Restarts: r.Restarts, Ref: r.ProviderRef,
			Reason: string(r.Reason), Message: text(r.Reason, r.Message), ExitCode: r.ExitCode, StartedAt: at(r.StartedAt),
		})
	}
}

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
