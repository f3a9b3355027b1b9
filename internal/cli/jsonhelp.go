package cli

const jsonHelp = `With -o json a command prints one JSON document on standard output, and an error
as an RFC 9457 problem document on standard error. Fields are added over time,
never taken away or given another meaning. The types are those of
GET /openapi.json on the daemon's socket; those of backend are of internal/wire:

  apply, rollback, delete,  ChangeResult: the plan, and the attempt in its last
  restart, scale            state; no attempt when nothing was to change
  status                    an object of daemon (Status) and apps (AppSummary)
  status APP                AppStatus; with -f the ChangeResult of the attempt that
                            was going on, if one was
  releases                  ReleaseList
  ps                        ContainerList
  secret set, delete        Secret; with --restart the ChangeResult of the restart
  secret list               SecretList
  exec                      what the command prints; an error as everywhere
  logs                      LogEntry, one a line
  workload apply, deploy,   WorkloadChange, with the rollout in its last state
  rollback
  workload scale, start,    the WorkloadStatus that it came to
  stop, restart
  workload delete           WorkloadAccepted
  workload cancel           WorkloadRollout
  workload list, status     WorkloadList, WorkloadStatus
  workload releases         WorkloadReleaseList, with --rollouts WorkloadRolloutList
  workload providers        ProviderList
  node list, show           NodeList, Node
  node cordon, uncordon,    Node, as it is then; of remove, as it was
  undrain, remove
  node drain                DrainPlan; with --wait the Node as it is at the end
  node doctor               a list of NodeDoctor
  node join                 JoinToken
  machine groups, list      MachineGroupList, MachineList
  machine show              MachineDetail
  machine create, rotate,   MachineAsked: what is kept until it is done
  delete
  backend list, show        BackendLeaseList, BackendLeaseDetail
  backend logs              BackendLogs: text by service/index
  backend releases          BackendReleaseList, without the manifests
  backend retentions        BackendRetentionList
  backend stats, drain      BackendStatus, BackendDrain
  doctor                    Doctor
  version                   an object of client and daemon (Version)`
