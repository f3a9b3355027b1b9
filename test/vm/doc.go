// Package vm holds the end-to-end test of virtual machines: the guest of package guest
// boots by the provider instances/infra/qemu, is told who it is by its user data, its
// agent comes to a hub, and a container runs on its engine. `make vm` runs it; `make test`
// does not, as a boot takes about a minute of both cores.
//
// What must never happen here: KVM that nobody asked for, more than one guest at a time,
// or a machine that is left.
package vm
