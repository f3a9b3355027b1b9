package application

import (
	"net/netip"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// Group is one replica of one release as observed: the containers that stand
// and belong together by their names.
type Group struct {
	Name     string // of its main container, whether that one stands or not
	Key      string // ReleaseKey of its containers
	SpecHash string
	Replica  int
	Members  []Member
}

// Member is one container of a group.
type Member struct {
	Name      string // of the container
	Member    string // which member of the spec it is
	Role      spec.Role
	ID        string
	ReleaseID string
	Status    docker.Status // "": it does not stand
	ImageID   string
	Address   netip.Addr
	Created   time.Time
	Started   time.Time
	Exit      docker.ExitState
	Restart   docker.RestartPolicy
	Restarts  int                  // by the engine, since it was last started by us
	Ports     []docker.PortBinding // published on the host, while it runs
	Ready     Readiness
	Live      Liveness
	// Recheck is set when the container ended since it was last found ready:
	// it must prove itself again before it takes traffic.
	Recheck bool
	// Deaths counts unasked ends within the crash window.
	Deaths int
	// RestartAt is when it may be started again after a crash; zero: now.
	RestartAt time.Time
	LastLog   []string // its last lines, once it has ended
	Node      string   // whose engine has it; "" is this machine
	// Away: its node cannot be asked, and this is what was last seen there. Nothing
	// is done to it and it is asked for nothing; what took traffic keeps it.
	Away bool
}

// Main is the member that serves, with the status "" while it does not stand.
func (g *Group) Main() *Member {
	for i := range g.Members {
		if g.Members[i].Role == spec.RoleMain {
			return &g.Members[i]
		}
	}
	return &Member{Name: g.Name}
}

// member finds the container of a member of the spec; nil: it does not stand. A
// main container is known by its role alone: earlier versions called every one
// "main".
func (g *Group) member(s spec.Member) *Member {
	for i := range g.Members {
		if m := &g.Members[i]; m.Role == s.Role && (s.Role == spec.RoleMain || m.Member == s.Name) {
			return m
		}
	}
	return nil
}

// live reports whether the container runs, or may at any moment.
func (m *Member) live() bool {
	switch m.Status {
	case docker.StatusRunning, docker.StatusRestarting, docker.StatusPaused:
		return true
	case docker.StatusCreated, docker.StatusExited, docker.StatusDead, docker.StatusRemoving:
	}
	return false
}

// ended reports whether the container ran and does no more.
func (m *Member) ended() bool {
	return m.Status == docker.StatusExited || m.Status == docker.StatusDead
}

// completed reports whether the container ran to its end well. One that was
// made and never started has an exit code of 0 too, and no times.
func (m *Member) completed() bool {
	return m.Status == docker.StatusExited && m.Exit.Code == 0 && !m.Exit.OOMKilled && m.Exit.Error == "" &&
		!m.Exit.StartedAt.IsZero() && !m.Exit.FinishedAt.IsZero()
}

// Running reports whether any member runs, or may at any moment.
func (g *Group) Running() bool {
	for i := range g.Members {
		if g.Members[i].live() {
			return true
		}
	}
	return false
}

// away reports whether any member is on a node that cannot be asked.
func (g *Group) away() bool {
	return slices.ContainsFunc(g.Members, func(m Member) bool { return m.Away })
}

// runs reports whether every container that should last runs.
func (g *Group) runs(r *store.Release) bool {
	for _, s := range r.Spec.Members() {
		if m := g.member(s); s.Role != spec.RoleInit && (m == nil || m.Status != docker.StatusRunning) {
			return false
		}
	}
	return true
}

// matches reports whether the group is made from exactly what the release says.
func (g *Group) matches(r *store.Release) bool {
	if r == nil || g.Key != ReleaseKey(r.Service, releaseContainer(r, 0)) || g.SpecHash != r.SpecHash {
		return false
	}
	for i := range g.Members {
		m := &g.Members[i]
		if want := memberImage(r, m.Member, m.Role).ImageID; m.ImageID != "" && want != "" && m.ImageID != want {
			return false
		}
	}
	return true
}

// genuine reports whether the group is of a release on record.
func (w *World) genuine(g *Group) bool { return w.origin(g) != nil }

// origin is the release on record that the group is of; nil: there is none.
func (w *World) origin(g *Group) *store.Release {
	for _, r := range append([]*store.Release{w.ActiveRelease, w.Release}, w.Mixed...) {
		if g.matches(r) {
			return r
		}
	}
	return nil
}

// memberImage is what the image of a member came to.
func memberImage(r *store.Release, member string, role spec.Role) store.MemberImage {
	if role == spec.RoleMain {
		return store.MemberImage{Name: member, Image: r.Image, Resolved: r.Resolved, ImageID: r.ImageID, Local: r.Local}
	}
	for _, m := range r.Members {
		if m.Name == member {
			return m
		}
	}
	return store.MemberImage{Name: member}
}

// group finds the group of that release and replica.
func (w *World) group(r *store.Release, replica int) *Group {
	for i := range w.Groups {
		if g := &w.Groups[i]; g.Replica == replica && g.matches(r) {
			return g
		}
	}
	return nil
}

// nameHeld reports whether a container of ours has that name.
func (w *World) nameHeld(name string) bool { return w.member(name) != nil }

// member finds a container by its name.
func (w *World) member(name string) *Member {
	for i := range w.Groups {
		for j := range w.Groups[i].Members {
			if m := &w.Groups[i].Members[j]; m.Name == name {
				return m
			}
		}
	}
	return nil
}

// Liveness is what the probes of a container that serves have shown.
type Liveness struct {
	Failures int       // in a row
	Due      time.Time // next probe; zero: at once
	Last     string    // what the last bad probe found
}
