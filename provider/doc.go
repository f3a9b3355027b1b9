// Package provider is the contract under which Berth runs one workload on any
// orchestrator.
package provider
