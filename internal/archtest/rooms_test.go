package archtest

import (
	"slices"
	"strings"
)

const module = "github.com/berth-cloud/berth/"

// A room is a part of the house. Its packages may import each other, and those
// of the rooms it uses.
type room struct {
	name string
	// packages are paths in the module: one package, or with /... a folder and
	// all below it. The closest one that fits decides where a package is.
	packages []string
	uses     []string
}

// house is the plan, from the ground up.
var house = []room{
	{name: "ground", packages: []string{
		"id/...", "secrets/...",
		"internal/clock/...", "internal/egress/...", "internal/flaglist/...", "internal/probe/...", "internal/spec/...", "internal/store/...", "internal/wire/...",
		// The contract of controllers; the store keeps its conditions.
		"internal/reconcile",
		// The contract between control plane and data plane, and its client.
		"internal/ingress/table", "internal/ingress/controlclient",
		// What agents and their two ends say to each other, and the ends: the control
		// plane's and the data plane's.
		"instances/wire", "instances/hub",
	}},
	{name: "runtime", packages: []string{"internal/docker/...", "internal/fleet/...", "internal/node/..."}, uses: []string{"ground"}},
	{name: "application", packages: []string{"internal/reconcile/..."}, uses: []string{"ground", "runtime"}},
	{name: "provider", packages: []string{"provider/...", "internal/dockerprovider/...", "internal/workfile/..."}, uses: []string{"ground", "runtime", "application"}},
	{name: "backend", packages: []string{"backend/..."}, uses: []string{"ground", "runtime", "application", "provider"}},
	{name: "lease", packages: []string{"lease/..."}, uses: []string{"ground", "runtime", "application", "provider", "backend"}},
	{name: "machines", packages: []string{"instances/...", "infra/...", "agent/..."}, uses: []string{"ground", "runtime"}},
	{name: "api", packages: []string{"internal/api/...", "internal/applogs/..."}, uses: []string{
		"ground", "runtime", "application", "provider", "backend", "lease", "machines",
	}},
	{name: "command line", packages: []string{"internal/cli/...", "internal/client/..."}, uses: []string{"ground"}},
	{name: "data plane", packages: []string{"internal/ingress/..."}, uses: []string{"ground"}},
	{name: "wiring", packages: []string{"internal/daemon/..."}, uses: []string{
		"ground", "runtime", "application", "provider", "backend", "lease", "machines", "api",
	}},
	{name: "berth", packages: []string{"cmd/berth"}, uses: []string{"ground", "command line"}},
	{name: "berthd", packages: []string{"cmd/berthd"}, uses: []string{"ground", "wiring"}},
	{name: "berth-node", packages: []string{"cmd/berth-node"}, uses: []string{"ground", "data plane", "machines"}},
	// The workshop may use everything; nothing above may use it.
	{name: "workshop", packages: []string{"test/...", "internal/archtest/...", "internal/tools/...", "examples/..."}, uses: []string{
		"ground", "runtime", "application", "provider", "backend", "lease", "machines", "api", "command line", "data plane", "wiring",
	}},
}

// implementations of one contract stand side by side and never on each other.
var implementations = [][]string{
	{"internal/docker/engine", "internal/docker/dockertest"},
	{"provider/docker", "provider/kubernetes", "provider/nomad"},
	{"instances/infra/fake", "instances/infra/netns", "instances/infra/qemu"},
}

// binaries are the programs, with the package paths, and all below them, that
// none of their code may link.
var binaries = map[string][]string{
	"cmd/berth": {
		"github.com/moby/", "github.com/docker/docker", "github.com/containerd/",
		"k8s.io/", "sigs.k8s.io/", "helm.sh/", "github.com/hashicorp/nomad", "modernc.org/", "github.com/pressly/goose",
		"cloud.google.com/", "github.com/aws/", "github.com/Azure/",
		// What package backend stands on, for the time that it takes to start.
		"github.com/prometheus/", "github.com/sony/gobreaker",
	},
	"cmd/berthd":     {"k8s.io/", "sigs.k8s.io/", "helm.sh/", "github.com/hashicorp/nomad"},
	"cmd/berth-node": {"k8s.io/", "sigs.k8s.io/", "helm.sh/", "github.com/hashicorp/nomad", "modernc.org/", "github.com/pressly/goose"},
}

// roomOf finds the room of a package, given by its path in the module.
func roomOf(pkg string) (room, bool) {
	var found room
	best := -1
	for _, r := range house {
		for _, p := range r.packages {
			if n := closeness(p); within(pkg, p) && n > best {
				found, best = r, n
			}
		}
	}
	return found, best >= 0
}

// closeness ranks patterns that fit: longer ones first, and of two for the same
// folder the one that means it alone.
func closeness(pattern string) int {
	folder, below := strings.CutSuffix(pattern, "/...")
	if below {
		return 2 * len(folder)
	}
	return 2*len(folder) + 1
}

// within says whether a pattern of the plan holds a package.
func within(pkg, pattern string) bool {
	folder, below := strings.CutSuffix(pattern, "/...")
	return pkg == folder || below && strings.HasPrefix(pkg, folder+"/")
}

// mayImport says whether the plan lets a package of room a import one of room b.
func mayImport(a, b room) bool { return a.name == b.name || slices.Contains(a.uses, b.name) }

// implementationOf tells which contract's implementation a package belongs to.
func implementationOf(pkg string) (contract int, name string) {
	for i, set := range implementations {
		for _, p := range set {
			if within(pkg, p+"/...") {
				return i, p
			}
		}
	}
	return -1, ""
}
