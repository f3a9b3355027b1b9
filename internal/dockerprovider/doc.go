// Package dockerprovider is the implementation of provider.Provider on one Docker
// engine, over internal types; provider/docker is its public face.
//
// A workload is one service to the application planner: its groups are the
// planner's groups, and its releases, strategies, restarts and probes are the planner's.
// The driver turns requests into desired state (translate), keeps what must not be
// forgotten (records), runs passes when somebody calls Step, and reads statuses, logs
// and sizes off the engine.
//
// The daemon and provider/docker make a Driver; tests make one on the simulated
// engine. Labels are the truth about what belongs to a workload, so that a
// process without records can still look at it, stop it and remove it.
//
// What must never happen here: an effect before the intent is recorded, a change
// of a workload without its lock, a value of a secret in a record, a status or an
// error, a container touched that does not carry the owner's label.
package dockerprovider
