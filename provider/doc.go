// Package provider is the contract under which Berth runs one workload on any
// orchestrator: the Provider interface, the requests and answers that cross it,
// and what callers and drivers share: a Registry, validation, snapshots of
// releases, the wait for readiness, and the StateStore in which a driver keeps what
// it must not forget.
//
// Who calls it: the daemon, the backend that hosts leases, and any Go program that
// wants containers to run somewhere without caring where. Package
// provider/providertest holds a driver to the rules below, dispatch sends a call to the
// engine of a workload's source, and instrument measures a provider.
//
// What must never happen here: a type of one orchestrator in a signature, a
// secret's value in a struct that is kept or printed, a call that waits without
// its context, a goroutine that outlives the call that began it.
//
// # The shortest use
//
// Provision, Deploy, Rollback and Scale record what is wanted, make the first pass and
// return. Await drives the instance until it is ready:
//
//	_, err := p.Provision(ctx, req)
//	...
//	status, err := provider.Await(ctx, p, req.InstanceID, provider.ReadinessPolicy{})
//
// # What is easily overlooked
//
// After a Deploy that failed the instance is StateFailed, and Await returns that
// failure at every call, while the release before it serves and Available is true.
// A Deploy of another release ends that, or Rollback to InstanceStatus.ReleaseID.
//
// Endpoints are sorted by service, so the first may be a sidecar's:
//
//	i := slices.IndexFunc(status.Endpoints, func(e provider.Endpoint) bool { return e.ServiceName == "web" })
//
// A ServiceDeploySpec keeps what it does not name, but for Image, which every one has
// to name.
//
// # The rules
//
// Every driver keeps these. Behind each stand the cases of the conformance suite
// that hold it.
//
// Calls and their repetition
//
//  1. Every method is idempotent by instance: a call whose answer was lost may be
//     made again and has its effect once. The same Provision converges, on what a later
//     Deploy made of it too; the request is the same when everything in it is.
//     [Provision/Repeated, Deploy/Repeated, Scale/Repeated, StartStop/Repeated]
//  2. Provision with another request under the same InstanceID is ErrConflict and
//     changes nothing; changes go through Deploy. [Provision/Conflict]
//  3. A call that failed at any step may be repeated, and so ends where it would
//     have ended. [Provision/RepeatedAfterFailure, Deploy/RepeatedAfterFailure,
//     Deprovision/RepeatedAfterFailure]
//  4. An unknown instance is ErrNotFound from every method but Deprovision, which
//     succeeds; one that was deprovisioned is unknown.
//     [Provision/NotFound, Deprovision/NotFound, Deprovision/AllMethodsAfter]
//  5. What a provider cannot do is ErrNotSupported before anything has changed;
//     nothing in a request is ignored. What it advertises works.
//     [Provision/Unsupported, Deploy/UnsupportedStrategy, Provision/Capabilities]
//  6. A request that breaks a rule of validation is ErrInvalid, with every
//     problem, before anything has changed. [Provision/Invalid, Deploy/Invalid, Scale/Invalid]
//  7. Every method ends soon after its context, and what it had begun can be
//     repeated or removed. [Cancel/EveryMethod, Cancel/ThenRepeat, Cancel/ThenDeprovision]
//  8. Methods may be called concurrently, for one instance and for many. Changes
//     of one instance happen one after the other. [Concurrent/ManyInstances,
//     Concurrent/OneInstance]
//
// Groups
//
//  9. In every replica inits run one after the other to their end, then main
//     starts, then sidecars; what a member depends on is ready before it starts.
//     A sidecar starts after main unless main depends on it.
//     [Provision/Order, Provision/PerReplica, Provision/SidecarBeforeMain]
//  10. An init that fails is ReasonInitFailed, main never starts, and the instance
//     is StateFailed. [Provision/InitFails]
//  11. The members of a group reach each other by service name, and each replica its
//     own; localhost is not promised. [Names/WithinGroup, Names/PerReplica]
//  12. The instances of one tenant that name one Network reach each other by Name;
//     no others do. [Names/SharedNetwork, Names/OtherTenant, Names/Long]
//
// Releases
//
//  13. Deploy changes the services that it lists and no others. Of a listed service
//     nil keeps and anything else replaces, empty by nothing.
//     [Deploy/UnlistedStay, Deploy/NilKeeps, Deploy/EmptyReplaces]
//  14. Any change rolls: of an image, of a variable alone, of a command alone.
//     [Deploy/EnvOnly, Deploy/CommandOnly, Deploy/Image]
//  15. A service that the instance does not have is ErrInvalid; a DeployRequest
//     that lists none is too. [Deploy/UnknownService, Deploy/Empty]
//  16. New before old: without a writable volume in the way the instance answers
//     throughout a rollout. [Deploy/NoGap, Deploy/BlueGreen, Deploy/Rolling]
//  17. Two running containers never hold one volume that they may write and that is
//     not Shared. Such a service is stopped before its successor starts, and
//     started again when that fails. [Deploy/OneWriter, Deploy/RecreateFails]
//  18. A release that does not become ready leaves the previous one serving, and
//     Status says StateFailed with ReasonRolloutFailed. [Deploy/FailureKeepsOld]
//  19. One rollout at a time: a Deploy of another release meanwhile is ErrBusy.
//     [Deploy/Busy]
//  20. Rollback restores everything of a release, only of one of this instance,
//     and only of one that once served; with a nil id it is the one before that
//     which was asked for last. The first release is ProvisionRequest.InitialRelease.
//     [Deploy/Rollback, Deploy/RollbackToInitial, Deploy/RollbackAfterFailure,
//     Deploy/RollbackUnknown]
//  21. Without a record Deploy and Rollback are ErrNoRecord, while Status, Stop,
//     Start, Logs, Exec and Deprovision work. [Deploy/NoRecord]
//
// Size and life
//
//  22. Scale changes main: zero keeps, and what is set arrives at the
//     orchestrator. [Scale/ZeroKeeps, Scale/Replicas, Scale/CPU, Scale/Memory]
//  23. Stop and Start keep volumes, and of a stateful set each replica's own
//     volumes and identity. Start of what runs and Stop of what is stopped
//     succeed. Restart of either ends running. What a rollout came to is not said
//     while nothing runs, and is said again after Start.
//     [StartStop/KeepsData, StartStop/StatefulIdentity, StartStop/Restart,
//     StartStop/StopAfterFailure]
//  24. Status is what is observed: worst of all services, with detail by service and replica,
//     restarts and reasons. A container that ended is not running, one that was
//     killed at its memory limit says so.
//     [Provision/Status, Provision/CrashLoop, Provision/OutOfMemory, StartStop/Status]
//  25. Ready means probed, by the declared check or else a connection to the first
//     port; a failing liveness check restarts in place.
//     [Provision/HealthHTTP, Provision/HealthTCP, Provision/HealthExec, Provision/NotReady,
//     Provision/Liveness]
//  26. Endpoints are where the instance answers, before and after a deploy.
//     [Provision/Endpoints, Deploy/Endpoints]
//  27. Deprovision leaves nothing that carries the instance's mark: container,
//     volume, network, record, or secret that the driver wrote. Volumes of
//     VolumeSpec.IDs carry none.
//     [Deprovision/LeavesNothing, Deprovision/DuringRollout]
//
// Looking in
//
//  28. Logs are LogLines of the service and replica asked for, with the time of
//     writing; Since, Tail and Follow do what they say, and Follow goes on over a
//     restart. [Logs/Lines, Logs/ByService, Logs/ByReplica, Logs/Since, Logs/Tail, Logs/Follow,
//     Logs/LongLine]
//  29. Exec runs the command, in the service and replica asked for, and returns
//     its exit code and both streams. A missing command is exit code ExitNotFound.
//     [Exec/ExitCode, Exec/Streams, Exec/Stdin, Exec/TTY, Exec/ByService, Exec/MissingCommand,
//     Exec/Environment, Exec/OutputBound, Exec/NotRunning]
//  30. Resources are measured, move under load, and are the sum of the instance.
//     [Resources/Move, Resources/Limit]
//
// Secrets
//
//  31. Secrets and config files are resolved from the vault by tenant and key when a
//     container is created, and are there inside. [Secrets/Env, Secrets/File,
//     Secrets/ConfigFile, Secrets/OtherTenant]
//  32. A secret that is not Optional and has no value is ReasonSecretMissing, and no
//     container starts without it. [Secrets/Missing, Secrets/Optional]
//  33. No value appears in a status, log line of ours, error, event, label or record.
//     [Secrets/Canary]
//  34. A rollback restores the version of a value that the release had.
//     [Secrets/Rollback]
//
// Volumes that stay
//
//  35. Volumes of VolumeSpec.IDs are the tenant's: made when they are first mounted, each
//     once, and left by Deprovision; another instance of the tenant finds in them what
//     the last one wrote. One id of two tenants is two volumes. Only RemoveKeptVolume
//     removes one, and none that a container has.
//     [Kept/Stays, Kept/Tenants, Kept/Remove, Kept/RepeatedAfterFailure, Kept/RepeatedAfterCrash]
//  36. While a running container of one instance may write such a volume, none of another
//     that may write it runs: that waits with ReasonVolumeInUse, or fails with it once
//     RolloutSpec.ReadyTimeout is over, and may be asked for again. [Kept/OneWriter]
//  37. Ids are a stateful set's, of a tenant, and enough for its replicas. A release
//     keeps those that it names. [Kept/Invalid, Kept/Scale, Kept/Rollback]
//  38. The bytes of volumes are measured; of what is not there nothing is said.
//     [Kept/Usage]
//
// Images
//
//  39. InspectImage waits for no fetch, and says of one image the same as long as that
//     does not change. [Image/Inspect, Image/Unavailable]
//  40. A bound of processes arrives at the orchestrator. [Provision/PidsLimit]
//
// # Who moves a rollout
//
// A driver whose orchestrator pursues what it was told needs no more than
// Provider. A driver on a bare engine is a Stepper: each Step looks and does what
// is due, and says when to come again. The daemon calls Step by instance and is woken by
// Watcher; a library caller uses Await. No driver has a goroutine of its own.
package provider
