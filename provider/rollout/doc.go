// Package rollout brings releases of workloads to their providers, remembers them,
// and ends every rollout that it began: forwards, or back.
//
// It stands on any provider.Provider and keeps its records in a
// provider.StateStore. A library user calls a Manager and waits with Run; the
// daemon's engine calls Step by workload.
//
//	m := rollout.New(store, registry, rollout.Options{})
//	m.Resume(ctx)                                  // once, when the process starts
//	m.Provision(ctx, "docker", req, rollout.With{Wait: true})
//	m.Deploy(ctx, change, rollout.With{Wait: true})
//	m.Rollback(ctx, workload, id.Nil, rollout.With{Wait: true})
//
// # Releases
//
// A release is every service of a workload, whole. Its version is allocated by one
// compare-and-swap of the workload's record, together with the rollout that brings
// it, and is used once. Its hash is its address: a deploy that leads to content that
// the workload has a release of gets that release. A deploy lists what changes; the
// other services are those of the release that last succeeded, so a release that
// failed never leaks into the next one, and the provider is always given all of
// them. The size that Scale gave belongs to that base too.
//
// A provider takes the id of a release for one rollout. So a release whose content
// is deployed again goes to it under the id of that request; Release.Ref and
// Rollout.Ref are what its status speaks of.
//
// # How a rollout moves
//
//	pending ──▶ apply ──▶ await ──▶ succeeded              the release is current
//	              │         │
//	              ▼         ▼
//	              undo ──▶ undo_await ──▶ rolled_back        it failed
//	                              └─────▶ cancelled          somebody cancelled it
//
// The four in the middle are phases of running. These are all moves:
//
//	from         to
//	pending      apply, cancelled, failed (nobody began in time)
//	apply        await, undo, failed, cancelled
//	await        apply (the provider pursues another), undo, succeeded, failed, cancelled
//	undo         undo_await, failed, cancelled
//	undo_await   undo (the provider pursues another), rolled_back, cancelled, failed
//
// From apply and await it goes straight to failed when there is nothing to return
// to, when Policy.KeepFailed says so, or when the provider refused it before it
// changed anything; and straight to cancelled when there is nothing to return to.
// Deprovision cancels from anywhere. From undo and undo_await it goes to failed when
// the way back failed too. Succeeded, failed, rolled_back and cancelled are ends:
// nothing leaves them, and their records do not change.
//
// One rollout of a workload is open at a time; a request for another is a
// BusyError. Cancel writes a desired state and no more. Whoever drives the rollout
// reads it before every step and compares it with every write, so a cancel that
// comes before the last write wins, and one that comes after is refused.
//
// # Crashes
//
// Every phase is recorded, with its deadline, before the provider is called, and
// every call may be made again: which of them were made is not known after a crash,
// and does not matter. A new process calls Resume. A rollout goes on where its
// journal says; when it is cancelled, or its time is up and its release is not
// ready, it turns back.
//
// In one process the steps of a workload take turns. Two processes may share a
// store; no write of one is lost to the other, and a call that comes late from one,
// after the other turned back, is seen in the provider's status and put right. They
// should not drive one workload by design.
//
// # Bounds
//
// The record of a workload is one value, at most provider.MaxRecordSize. It keeps
// the newest Policy.KeepReleases releases beside those that something refers to
// (the current one, the first one until any has served, and the two of the open
// rollout) and the newest Policy.KeepRollouts rollouts, by which a repeated request is
// recognised. A release that is no longer kept cannot be returned to.
//
// # What must never happen here
//
//   - a call of a provider whose intent is not recorded;
//   - a write that was not compared with what is there, or that changes a release or a
//     rollout that has ended;
//   - the value of a secret or the content of a config file in a record, a log or an
//     event;
//   - a goroutine, or a wait inside Step.
package rollout
