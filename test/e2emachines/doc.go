// Command e2emachines holds a group of machines, and an app that runs on it, to what is
// promised of both: with the real berthd, berth-node and berth, on machines that are
// namespaces of this host, and at the end on one that is virtual.
//
// The steps, each in a file that begins with step: the machines come up by one-time
// tokens, and an app is spread over them; it is changed again and again under load while
// the control plane gets SIGKILL and is started anew; a machine is killed; all are
// replaced by others of another template; the group shrinks to one; app and group go.
// Then a virtual machine boots, registers and runs a container of an app that is placed
// on it.
//
// Requests fail as test/load says. Those of the step in which a machine dies are counted
// apart, as what is in flight on it may die with it; they are plain GETs, and may fail in
// the second of the death alone. Leaked is what is there of machines or the app once both
// are gone: records that say something else than deleted, folders, network namespaces,
// links, cgroups, mounts, processes, and what the engine has with this Berth's mark.
//
// `make e2e-machines` runs it, and -vm=false leaves the virtual machine out; the
// package's test is the short form. It needs root, iproute2, dockerd and a Docker engine,
// and for the virtual machine QEMU and what makes its guest. Its last line is
//
//	machines: <created> created, <registered> registered, <leaked> leaked, <failed> failed requests
//
// and it ends with 1 if anything was leaked or failed, or any step was not as it shall be.
//
// What must never happen in it: a machine, an address or a process that stays after the
// end, a signal to anything that it did not make.
package main
