package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// alwaysDenied are the parts of a host that no service ever mounts: who holds
// one of them holds the host.
var alwaysDenied = []string{
	"/etc", "/root", "/boot", "/sys", "/proc", "/dev", "/run", "/var/run",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/spool/cron",
	"/bin", "/sbin", "/lib", "/lib64", "/usr",
}

// DeniedHostPaths are the parts of a host that [CheckHostPath] always refuses,
// for whoever has to find out what they are called on one host.
func DeniedHostPaths() []string { return slices.Clone(alwaysDenied) }

const maxPathBytes = 1024

// CheckHostPath says whether a path of the host may be mounted: inside one of
// the allowed folders, and neither inside nor around a denied one. It judges
// the text alone. A link can lead elsewhere, so whoever mounts the path
// resolves it on its host first and checks the answer once more.
func CheckHostPath(p string, allow, deny []string) error {
	if err := checkAbsolute(p); err != nil {
		return err
	}
	if path.Base(p) == "docker.sock" {
		return yamlfile.Advise("the engine's socket is never mounted", "who holds it holds the host; remove the volume")
	}
	for _, denied := range slices.Concat(alwaysDenied, deny) {
		denied = path.Clean(denied)
		switch {
		case p == denied:
			return yamlfile.Advise(yamlfile.Quote(p)+" is never mounted", "use a named volume, or a folder of its own")
		case within(p, denied):
			return yamlfile.Advise(fmt.Sprintf("%s is in %s, which is never mounted", yamlfile.Quote(p), denied),
				"use a named volume, or a folder of its own")
		case within(denied, p):
			return yamlfile.Advise(fmt.Sprintf("%s holds %s, which is never mounted", yamlfile.Quote(p), denied),
				"use a named volume, or a folder of its own")
		}
	}
	for _, allowed := range allow {
		if within(p, path.Clean(allowed)) {
			return nil
		}
	}
	if len(allow) == 0 {
		return yamlfile.Advise("no path of the host may be mounted here",
			"use a named volume, or ask the operator to allow the path")
	}
	return yamlfile.Advise(yamlfile.Quote(p)+" is outside the folders that the operator allows",
		"use a named volume, or a path below "+strings.Join(allow, " or "))
}

// checkAbsolute holds paths that begin at the root and have one spelling.
func checkAbsolute(p string) error {
	switch {
	case !strings.HasPrefix(p, "/"):
		return yamlfile.Advise(yamlfile.Quote(p)+" does not begin at the root", "write an absolute path, for example /data")
	case len(p) > maxPathBytes:
		return yamlfile.Advise(fmt.Sprintf("the path has %d characters", len(p)), fmt.Sprintf("the most is %d", maxPathBytes))
	case strings.ContainsFunc(p, isControl):
		return yamlfile.Advise("the path has a control character", "remove it")
	case path.Clean(p) != p:
		return yamlfile.Advise(yamlfile.Quote(p)+" is not the plain form of the path", "write "+yamlfile.QuoteBare(path.Clean(p)))
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// within reports whether p is the folder or inside it, on whole names.
func within(p, folder string) bool {
	return p == folder || folder == "/" || strings.HasPrefix(p, folder+"/")
}
