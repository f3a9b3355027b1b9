package translate

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/berth-cloud/berth/id"
)

// SharedPrefix begins the app of every shared network. No id begins so: a kind
// is followed by characters of base32, and never by a hyphen.
const SharedPrefix = "net-"

// App is the planner's name for what has a network: the workload itself, or the
// network that workloads of one tenant share. Tenants cannot meet, whatever
// they call their networks, and the name is short whatever theirs are.
func App(workload id.ID, tenant, network string) string {
	if network == "" {
		return workload.String()
	}
	sum := sha256.Sum256([]byte(tenant + "\x00" + network))
	return SharedPrefix + hex.EncodeToString(sum[:10])
}
