package application

// Reason says in one word why a condition, an attempt or a trace event is what
// it is. The API, the command line and the page read this list.
type Reason string

// Reasons of a service that serves.
const (
	ReasonDeployed        Reason = "Deployed"               // the desired release serves on every replica
	ReasonRollingOut      Reason = "RollingOut"             // the active release serves, a new one is on its way
	ReasonPreviousServing Reason = "PreviousReleaseServing" // the last change failed, the release before it serves
	ReasonScaling         Reason = "Scaling"                // serves, the number of replicas is being changed
	ReasonDegraded        Reason = "Degraded"               // serves with fewer replicas than desired
	ReasonCutoverPending  Reason = "CutoverPending"         // waits for the data plane to take the new routes
)

// Reasons of a service that does not serve yet, or no more.
const (
	ReasonNoDesiredState  Reason = "NoDesiredState"
	ReasonSuspended       Reason = "Suspended"
	ReasonSuspending      Reason = "Suspending"
	ReasonStopped         Reason = "Stopped"
	ReasonStopping        Reason = "Stopping"
	ReasonMaintenance     Reason = ReasonMaintenanceHold
	ReasonStarting        Reason = "Starting" // first release, not ready yet
	ReasonHandingOver     Reason = "HandingOver"
	ReasonNoReadyReplica  Reason = "NoReadyReplica"
	ReasonCrashLoop       Reason = "CrashLoopBackOff"
	ReasonWaiting         Reason = "WaitingForDependency"
	ReasonResolvingImage  Reason = "ResolvingImage"
	ReasonPullingImage    Reason = "PullingImage"
	ReasonStoreError      Reason = "StoreError"
	ReasonEngineError     Reason = "EngineError"
	ReasonStrategyUnknown Reason = "StrategyUnrecognized"
)

// Reasons of a service that is, all or in part, on a node that cannot be reached.
const (
	ReasonNodeOffline    = "NodeOffline"     // nothing is touched; what it runs goes on
	ReasonNoNode         = "NoNodeAvailable" // there is none that it may run on
	ReasonNodeRecovering = "NodeRecovering"  // the node is back since a moment, and not all of it stands again
)

// Reasons of a service whose liveness probe fails.
const (
	ReasonLivenessDegraded   Reason = "LivenessDegraded"         // some probes in a row failed, not yet enough
	ReasonLivenessRestarting Reason = "LivenessFailedRestarting" // a container is restarted for it
)

// Reasons of a service that runs to completion.
const (
	ReasonCompleted         = "Completed"
	ReasonRunningToComplete = "RunningToCompletion"
	ReasonCompletionTimeout = "CompletionTimeout"
)

// Reasons why a change failed.
const (
	ReasonImageNotFound    Reason = "ImageNotFound"
	ReasonImageDenied      Reason = "ImageAccessDenied"
	ReasonImagePullFailed  Reason = "ImagePullFailed"
	ReasonCreateFailed     Reason = "CreateFailed"
	ReasonStartFailed      Reason = "StartFailed"
	ReasonNameTaken        Reason = "ContainerNameTaken"
	ReasonPortInUse        Reason = "HostPortInUse"
	ReasonPortNotPublished Reason = "PinnedPortNotPublished"
	ReasonHostPathRefused  Reason = "HostPathRefused"
	ReasonNetworkFailed    Reason = "NetworkFailed"
	ReasonVolumeFailed     Reason = "VolumeFailed"
	ReasonVolumeInUse      Reason = "VolumeInUse"
	ReasonCutoverTimeout   Reason = "CutoverTimeout"
	ReasonReadinessFailed  Reason = "ReadinessFailed"
	ReasonExited           Reason = "ExitedDuringReadiness"
	ReasonOOMKilled        Reason = "OOMKilledDuringReadiness"
	ReasonExitedStable     Reason = "ExitedDuringStableWindow"
	ReasonOOMStable        Reason = "OOMKilledDuringStableWindow"
	ReasonInitFailed       Reason = "InitFailed"
	ReasonSecretMissing    Reason = "RequiredSecretMissing"
	ReasonDependencyFailed Reason = "DependencyFailed"
	ReasonDependencyLate   Reason = "DependencyTimeout"
	ReasonJobFailed        Reason = "CompletionFailed"
	ReasonTeardownPending  Reason = "TeardownPending"
	ReasonTeardownDone     Reason = "TeardownsFinalized"
	ReasonNothingToDo      Reason = "NothingToFinalize"
)

// ReasonMaintenanceHold is the result reason while DesiredService.MaintenanceHold is set.
const ReasonMaintenanceHold = "MaintenanceHold"
