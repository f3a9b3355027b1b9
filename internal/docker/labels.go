package docker

// The labels that mark what is Berth's. They are the truth about ownership;
// names are a convenience.
const (
	LabelInstance = "berth.instance"   // which Berth made it
	LabelApp      = "berth.app"        // the app's name
	LabelService  = "berth.service"    // the full service name
	LabelRelease  = "berth.release"    // the release's id, "shop-web-v3"
	LabelSpecHash = "berth.spec-hash"  // the full hash of the spec it was made from
	LabelMember   = "berth.member"     // which member of its group, by the name in the spec
	LabelFiles    = "berth.files"      // on a volume: the container whose files it holds
	LabelRole     = "berth.role"       // the member's role: "init" or "sidecar"; none is main
	LabelReplica  = "berth.replica"    // the replica's index, from 0
	LabelVolume   = "berth.volume"     // on a volume: its name in app.yaml
	LabelKept     = "berth.kept"       // on a volume: its id within the tenant, whose it is
	LabelWorkload = "berth.workload"   // the id of the provider's workload it belongs to
	LabelTenant   = "berth.tenant"     // the tenant that the workload belongs to
	LabelDeployed = "berth.deployed"   // the id of the provider's release that it was made for
	LabelPorts    = "berth.ports"      // what the member listens on: "8080/http 9090/tcp"
	LabelGrace    = "berth.stop-grace" // how long the member may take to end, where that is not the default
)
