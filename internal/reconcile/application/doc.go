// Package application converges one service to containers and changes it
// without dropping a request.
//
// A pass has three steps. The [Controller] gathers a [World]: desired state,
// release, active release, containers, readiness, what the data plane reports,
// and the time. [PlanPass], a pure function, answers with actions, a condition
// and when to look again. The executor performs the actions, one runtime or
// store call each, and stops at the first that fails; the next pass gathers the
// world anew and plans from there. Nothing waits: a readiness wait, a stable
// window and a drain are all "come back in N".
//
// The goal of a pass is one release: the one desired, or, when its attempt has
// failed, the active one again. With an overlapping strategy the goal's groups
// are started beside the active ones and take over once all are ready. An
// exclusive service (one writer per volume, a port of the host) hands over:
// traffic is held, the old groups are stopped, the goal's are started. Whatever
// belongs to neither is drained and removed.
//
// The daemon's wiring builds controllers with [New]; internal/reconcile runs
// them. What must never happen here: a wait inside a pass, an effect outside an
// action, touching a container without our labels, a decision from memory that
// the world contradicts.
package application
