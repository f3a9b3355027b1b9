package guest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// recipe is all that a system is made of. Another one has another hash, and so
// another folder.
type recipe struct {
	// Version is raised when the way in which it is made changes.
	Version  int
	Suite    string
	Packages []string
	Leave    []string          // paths that no package installs
	Files    map[string]string // by path
	Links    map[string]string // target by path; /dev/null masks a unit
	DiskMiB  int
	Append   string
}

func (r recipe) hash() string {
	raw, _ := json.Marshal(r) // texts and numbers alone
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// units are where the system's own are linked.
const units = "/etc/systemd/system/"

// debian is the system, with the agent's unit.
func debian(agentUnit string) recipe {
	r := recipe{
		Version: 1,
		Suite:   "bookworm",
		Packages: []string{
			"systemd", "systemd-sysv", "udev", "dbus", "linux-image-cloud-amd64", "iproute2", "iptables",
			"ca-certificates", "cloud-init", "docker.io", "apparmor",
		},
		Leave:   []string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*"},
		DiskMiB: 4096,
		// The power button is the kernel's to hear, and a panic is the end.
		Append: "root=/dev/vda rw console=ttyS0 quiet panic=-1 systemd.show_status=error",
		Files: map[string]string{
			"/etc/cloud/cloud.cfg":                    cloudConfig,
			"/etc/systemd/network/50-machine.network": "[Match]\nName=en* eth*\n\n[Network]\nDHCP=yes\n\n[DHCPv4]\nClientIdentifier=mac\n",
			units + "berth-agent.service":             agentUnit,
			// Nobody signs in, and the console is for what goes wrong.
			"/etc/systemd/journald.conf.d/console.conf": "[Journal]\nStorage=volatile\nForwardToConsole=yes\nMaxLevelConsole=warning\n",
			"/etc/modules-load.d/machine.conf":          "button\n",
		},
		Links: map[string]string{
			units + "multi-user.target.wants/systemd-networkd.service": "/lib/systemd/system/systemd-networkd.service",
		},
	}
	for _, unit := range []string{
		"getty@tty1.service", "serial-getty@ttyS0.service", "systemd-networkd-wait-online.service",
		"apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
		"e2scrub_reap.service", "cloud-init-hotplugd.socket", "systemd-pstore.service",
	} {
		r.Links[units+unit] = "/dev/null"
	}
	return r
}

// cloudConfig leaves out what a machine in a test has no use for.
const cloudConfig = `# Only what a seed may ask for here.
users: []
disable_root: true
preserve_hostname: false
datasource_list: [NoCloud, None]
network: {config: disabled}
cloud_init_modules: [bootcmd, write-files, resizefs, set_hostname, update_hostname]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-user]
system_info: {distro: debian}
`
