// Package qemu makes virtual machines on this host, for an operator who has the metal
// and for end-to-end tests that want a kernel, a boot and a power button. Package
// instances calls it by the contract of package infra; the
// folders of its machines and the order of what is done to them are package hostdir's.
//
// A machine is known by its folder, Dir/<cluster>.<shard>/<instance id>, and the record
// in it, which is written before anything else: whose the machine is, the digest of its
// request, and the image, size and network that it has for its life, whatever the
// configuration says later. Beside the record are
//
//   - disk.qcow2, an overlay on the image's disk, which itself is only read: an image's
//     files must not change under their names;
//   - seed.iso, a NoCloud volume from which cloud-init takes the instance's id and the
//     user data, whatever that is; for root alone;
//   - life, a file that QEMU inherits locked. The lock is the kernel's word that the
//     machine's process is there, also one of which nobody heard; no second one starts
//     while it is held;
//   - qmp, the socket of the machine's monitor, from which the state comes, and started.
//
// # Life
//
// A machine is nobody's child: the daemon may end and start again, and finds the machine
// by its folder. A process is signalled through a handle on it, and only if it holds the folder's
// life; a number alone is never believed. What the monitor says counts when it knows
// the machine's UUID. (Under systemd the daemon's unit needs KillMode=process, or its
// machines end with it.)
//
// A machine is started once. One that powered itself off, or whose process died, is
// stopped until it is deleted; a reboot inside is its own affair. A create that was cut
// after the start and before it was noted starts a machine again that ended meanwhile:
// the same disk and the same identity, as after a power cut.
//
// A delete is durable once the record says so. It presses the power button, after
// StopGrace it ends QEMU by its monitor, and a little later by SIGKILL. DeleteInstance
// waits a short while for that, and every later DeleteInstance or GetInstanceStatus goes
// on with it. Not found is the answer only once the process and the folder are gone.
// There is no goroutine of its own and nothing to close.
//
// # Network
//
// A subnet is a bridge of the host, to which the machine gets a port that goes with it,
// or user-mode: QEMU's own address translation, in which each machine is 10.0.2.15 by
// itself, reached by nobody, and the host is 10.0.2.2. At that address it reaches all
// that listens on the host's loopback: right for the operator's own machines and for
// tests, and wrong for machines of tenants. Addresses come from whoever gives them out
// there; the provider knows none, and the machine tells its own when it registers.
//
// Emulation in software is the default, as a host that is itself a virtual machine may
// offer a /dev/kvm that hangs; KVM is used when the configuration asks for it.
// See testdata/settings.json for the settings that [Open] takes.
//
// What must never happen here: a second process for a machine, a signal to a process that
// is another's, a disk that two machines write, an image that is written, or the removal
// of a folder whose record does not bear the owner's marks.
package qemu
