// Package dispatch sends every verb of a workload to the part of a provider that
// runs the workload's source: the provider's own methods for container services,
// one of its engines for a chart, manifests or an Application.
//
// Whoever drives workloads of more than one type of source calls it in place of the
// provider. A source needs its engine as an interface and as a capability, and a
// verb that an engine lacks is provider.ErrNotSupported: what must never happen here is
// that a verb goes to the provider's own methods for a workload that an engine made.
package dispatch
