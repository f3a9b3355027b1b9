// Package guest makes the virtual machine that end-to-end tests boot: a small Debian 12
// with systemd, Docker, cloud-init and the agent, which boots without a boot loader.
//
// It is made in two layers, each cached in a folder of its own that is named by the hash
// of all that goes into it: the system, by mmdebstrap and mke2fs, which takes a minute or
// two, and the system with the agent of this checkout, by debugfs, which takes seconds.
// A folder appears under its name when it is whole, and its files never change after: the
// disks of machines are laid over them.
//
// What a machine is told comes by cloud-init, as on any cloud. Emulated in software that
// is about half of a boot: on two quiet cores the agent is connected after 50 seconds, on
// busy ones after 70 to 100, where the same guest is up after 45 without cloud-init. The
// limit is five minutes, so the real thing stays; a reader of our own would be faster,
// and then tests would prove that reader.
//
// Tests use it. It needs root, as mmdebstrap does for device files.
//
// What must never happen here: a cached folder that is changed, or removed while a
// machine's disk may lie over it.
package guest
