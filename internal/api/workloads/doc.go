// Package workloads runs workloads on providers for the API: it names them, decides
// whether a file creates, changes or leaves one, and keeps each going after a
// restart of the daemon.
//
// internal/daemon makes a [Service] on the store, the providers and the vault, gives
// it to the API, and lets its engine call the controllers that [Service.Controller]
// makes, one for each workload. What a workload ran, runs and is to run is in the
// records of provider/rollout; here is a row for each name.
//
// What must never happen here: a request that waits for an orchestrator beyond a
// bound, a change that no record knows, the content of a config file or the value of
// a secret in a row, an answer, an error or a log.
package workloads
