// Package netns makes machines of this host's own parts, for fast real tests with
// many nodes and for trying machines without a cloud: each is a network, mount, pid,
// uts and ipc namespace with an engine and an agent of its own, and runs in about a
// second. Package instances calls it by the contract of package infra; the
// folders of its machines and the order of what is done to them are package hostdir's.
//
// A machine is known by its folder, Dir/<cluster>.<shard>/<instance id>, and the
// record in it, which is written before anything else: whose the machine is, the
// digest of its request, its addresses. All else is named after the record's provider
// id, berth-<owner>-<machine>, and is made by steps that can each be made again:
//
//   - the network namespace of that name, and a veth pair with a /30 of the subnet,
//     known by its hardware address; the host has the first address, the machine the
//     second, which is its PrivateIPv4 and its way out;
//   - the machine's first process, see package machine: it lives by itself, whatever
//     becomes of the provider, and holds a lock of the folder while it does;
//   - cgroups below /berth-machines/<provider id>, which its engine makes.
//
// A machine is started once. If its first process dies, all in it dies, and it is
// stopped until it is deleted; if its engine dies, its containers go on and the
// engine is started again, unless RestartEngine is off. [Provider.KillMachine] and
// [Provider.KillEngine] do the one and the other, for tests.
//
// A delete is durable once the record says so; DeleteInstance waits a short while for
// the end and cleans up, and every later DeleteInstance or GetInstanceStatus goes on
// with that. Not found is the answer only once processes, network, cgroups and folder
// are gone. There is no goroutine of its own and nothing to close.
//
// User data is empty, or #cloud-config of which write_files is applied, below
// /var/lib/berth and /etc/berth alone, and runcmd is passed over: the agent is
// started from the provider's configuration. Anything else is refused by its line,
// never by its text. See testdata/userdata.yaml, and testdata/settings.json for the
// settings that [Open] takes.
//
// A machine sees the host's other files and devices, and root in it is root: this is
// no boundary against what runs there. It needs root, Linux 5.3, iproute2, dockerd, and
// iptables when machines shall reach each other.
//
// What must never happen here: a second first process for a machine, a signal to a
// pid that may be another's, a range that the host uses already, or the removal of
// anything that does not bear the record's marks.
package netns
