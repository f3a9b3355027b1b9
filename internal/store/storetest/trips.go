package storetest

import (
	"reflect"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
)

// entry is a trip of an entity that is a T.
func entry[T any](write func(*env, *filler) T, read func(*env, T) T) trip {
	return trip{reflect.TypeFor[T](),
		func(e *env, f *filler) any { return write(e, f) },
		func(e *env, v any) any { return read(e, v.(T)) }}
}

func trips() []trip {
	return []trip{
		entry(writeApp, func(e *env, v store.App) store.App { return must[store.App](e)(e.s.GetApp(e.ctx, v.Name)) }),
		entry(writeService, func(e *env, v store.DesiredService) store.DesiredService { return e.desired(v.Name) }),
		entry(writeAttempt, func(e *env, v store.Attempt) store.Attempt { return e.attempt(v.ID) }),
		entry(writeAttemptService, func(e *env, v store.AttemptService) store.AttemptService {
			return must[[]store.AttemptService](e)(e.s.OpenAttempts(e.ctx, v.Service))[0]
		}),
		entry(writeRelease, func(e *env, v store.Release) store.Release {
			return must[store.Release](e)(e.s.GetRelease(e.ctx, v.ID))
		}),
		entry(writeActive, func(e *env, v store.ActiveRelease) store.ActiveRelease {
			return must[store.ActiveRelease](e)(e.s.GetActiveRelease(e.ctx, v.Service))
		}),
		entry(writeRoutes, func(e *env, _ store.RouteState) store.RouteState { return e.routes() }),
		entry(writeEvent, func(e *env, v store.TraceEvent) store.TraceEvent { return e.trace(v.AttemptID, 0, 0)[0] }),
		entry(writeNode, func(e *env, _ store.Node) store.Node { return must[[]store.Node](e)(e.s.Nodes(e.ctx))[0] }),
		entry(writePlacement, func(e *env, v store.Placement) store.Placement {
			return must[store.Placement](e)(e.s.PlacementOf(e.ctx, v.AppID))
		}),
		entry(writeSubnet, func(e *env, v store.Subnet) store.Subnet {
			return must[store.Subnet](e)(e.s.SubnetOf(e.ctx, v.AppID))
		}),
		entry(writeAddress, func(e *env, v store.Address) store.Address { return e.addresses(v.AppID)[0] }),
		entry(writeTeardown, func(e *env, _ store.PendingTeardown) store.PendingTeardown { return e.teardowns()[0] }),
		entry(writeKeptLog, func(e *env, v store.KeptLog) store.KeptLog { return e.keptLogs(v.Service, 0)[0] }),
		entry(writeCondition, func(e *env, _ reconcile.Condition) reconcile.Condition { return e.conditions("application/x")[0] }),
	}
}

func writeApp(e *env, f *filler) store.App {
	v := filled[store.App](f)
	e.apply(store.Change{AppID: v.Name, Kind: store.AttemptApply, Now: v.CreatedAt, Put: []store.DesiredService{{Name: v.Name + "-x"}}, DeleteApp: true})
	return v
}

func writeService(e *env, f *filler) store.DesiredService {
	v := filled[store.DesiredService](f)
	c := applying(v.AppID, v)
	c.Now = v.UpdatedAt
	a := e.apply(c)
	v.Generation, v.AttemptID = 1, a.ID
	return v
}

func writeAttempt(e *env, f *filler) store.Attempt {
	v := filled[store.Attempt](f)
	c := store.Change{AppID: v.AppID, Kind: v.Kind, Now: v.CreatedAt, Actions: map[string]string{}}
	for _, u := range v.Services {
		c.Put = append(c.Put, store.DesiredService{Name: u.Service})
		c.Actions[u.Service] = u.Action
	}
	v.ID = e.apply(c).ID
	v.State = store.AttemptFailed
	for i := range v.Services {
		u := &v.Services[i]
		u.AttemptID, u.State = v.ID, store.AttemptFailed
		e.ok(e.s.UpdateAttemptService(e.ctx, *u))
		v.FinishedAt = u.UpdatedAt
	}
	return v
}

func writeAttemptService(e *env, f *filler) store.AttemptService {
	v := filled[store.AttemptService](f)
	a := e.apply(store.Change{AppID: "shop", Put: []store.DesiredService{{Name: v.Service}}, Actions: map[string]string{v.Service: v.Action}})
	v.AttemptID, v.State = a.ID, store.AttemptRunning
	e.ok(e.s.UpdateAttemptService(e.ctx, v))
	return v
}

func writeRelease(e *env, f *filler) store.Release {
	v := filled[store.Release](f)
	got := e.release(v)
	v.ID, v.Version = got.ID, got.Version
	return v
}

func writeActive(e *env, f *filler) store.ActiveRelease {
	v := filled[store.ActiveRelease](f)
	for i := range v.Targets {
		v.Targets[i].Replica = i + 1
	}
	v.Version = e.activate(v).Version
	return v
}

func writeRoutes(e *env, f *filler) store.RouteState {
	v := filled[store.RouteState](f)
	for i := range v.Active {
		v.Active[i].Version = e.activate(v.Active[i]).Version
		v.Version = v.Active[i].Version
	}
	return v
}

func writeEvent(e *env, f *filler) store.TraceEvent {
	v := filled[store.TraceEvent](f)
	e.ok(e.s.AppendTrace(e.ctx, v))
	v.ID = e.trace(v.AttemptID, 0, 0)[0].ID
	return v
}

func writeSubnet(e *env, f *filler) store.Subnet {
	v := filled[store.Subnet](f)
	e.ok(e.s.SaveSubnet(e.ctx, v))
	return v
}

func writeAddress(e *env, f *filler) store.Address {
	v := filled[store.Address](f)
	e.subnet(v.AppID, "10.9.1.0/24")
	v.FreedVersion = e.activate(activeRow("shop-web", "v1")).Version
	ip, err := e.s.TakeAddress(e.ctx, store.AddressRequest{AppID: v.AppID, Container: v.Container, Now: at(0)})
	e.ok(err)
	e.ok(e.s.FreeAddress(e.ctx, v.AppID, v.Container, v.FreedAt))
	v.IP = ip
	return v
}

func writeNode(e *env, f *filler) store.Node {
	v := filled[store.Node](f)
	e.ok(e.s.SaveNode(e.ctx, v))
	return v
}

func writePlacement(e *env, f *filler) store.Placement {
	v := filled[store.Placement](f)
	e.apply(applying(v.AppID, store.DesiredService{Name: "web"}))
	e.ok(e.s.SavePlacement(e.ctx, v))
	return v
}

func writeTeardown(e *env, f *filler) store.PendingTeardown {
	v := filled[store.PendingTeardown](f)
	a := e.apply(applying(v.AppID, store.DesiredService{Name: v.Name}))
	e.ok(e.s.AddPendingTeardown(e.ctx, v.Name, v.NodeID))
	e.ok(e.s.RecordPendingTeardownFailure(e.ctx, v.Name, v.LastCause))
	got := e.teardowns()[0]
	v.AttemptID, v.Failures, v.CreatedAt = a.ID, 1, got.CreatedAt
	return v
}

func writeKeptLog(e *env, f *filler) store.KeptLog {
	v := filled[store.KeptLog](f)
	e.ok(e.s.SaveKeptLog(e.ctx, v))
	return v
}

func writeCondition(e *env, f *filler) reconcile.Condition {
	v := filled[reconcile.Condition](f)
	e.ok(e.s.UpsertConditions(e.ctx, "application/x", []reconcile.Condition{v}))
	return v
}
