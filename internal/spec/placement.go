package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// Placement is what an app says about the nodes it runs on. Every service of the
// app carries the same: an app is placed whole. The zero value is any node, moved
// after [DefaultMoveAfter].
type Placement struct {
	// Node is the one node to run on: its name or its id, LocalNode for the machine of
	// the control plane. "" is any.
	Node string `json:"node,omitempty"`
	// Labels are what a node has to carry, all of them. None: any node.
	Labels map[string]string `json:"labels,omitempty"`
	// Spread puts the replicas of the app's only service on several nodes.
	Spread bool `json:"spread,omitempty"`
	// Keep leaves the app where it is for as long as its node is away.
	Keep bool `json:"keep,omitempty"`
	// MoveAfter is how long a node is away before its apps are started elsewhere;
	// 0 is [DefaultMoveAfter]. See [MovesAfter].
	MoveAfter time.Duration `json:"move_after,omitempty"`
}

// LocalNode names the machine that the control plane runs on.
const LocalNode = "local"

// DefaultMoveAfter is how long a node is away before an app without volumes is
// started elsewhere.
const DefaultMoveAfter = 5 * time.Minute

// Bounds of placement.
const (
	minMoveAfter           = 10 * time.Second
	maxMoveAfter           = 24 * time.Hour
	maxNodeLabels          = 10
	maxNodeLabelValueBytes = 255
)

// MovesAfter says how long after the loss of its node an app of these services is
// started elsewhere. It is false for one that waits for its node: because it says
// so, or because what is in its volumes is there and nowhere else.
func MovesAfter(services ...*Service) (time.Duration, bool) {
	after := DefaultMoveAfter
	for _, s := range services {
		if s.Placement.Keep || s.mounts() {
			return 0, false
		}
		if s.Placement.MoveAfter > 0 {
			after = s.Placement.MoveAfter
		}
	}
	return after, true
}

// Equal reports whether two placements ask for the same.
func (p Placement) Equal(o Placement) bool {
	return p.Node == o.Node && maps.Equal(p.Labels, o.Labels) && p.Spread == o.Spread &&
		formatDisconnect(p) == formatDisconnect(o)
}

// mounts reports whether any container of the service has a volume or a path of
// the host, to write or to read.
func (s *Service) mounts() bool {
	return slices.ContainsFunc(s.Members(), func(m Member) bool { return len(m.Volumes) > 0 })
}

// nodeFields are the keys of a node that is asked for by what it is like.
func nodeFields() []field[Placement] {
	return []field[Placement]{{Name: "labels", Required: true, Read: readNodeLabels}}
}

// disconnectFields are the keys of what happens when a node is away.
func disconnectFields() []field[Placement] {
	move := durationField("move_after", minMoveAfter, maxMoveAfter, func(p *Placement) *time.Duration { return &p.MoveAfter })
	move.Required = true
	return []field[Placement]{move}
}

func readNode(d *decoder, v value, p *Placement) {
	if v.Kind == yaml.MappingNode {
		yamlfile.Section(d, v, nodeFields(), p)
		return
	}
	name, ok := d.Text(v)
	if !ok {
		return
	}
	if err := CheckName(name); err != nil {
		d.RefuseErr(v, err)
		return
	}
	p.Node = name
}

func readNodeLabels(d *decoder, v value, p *Placement) {
	if n := len(v.Content) / 2; n > maxNodeLabels && v.Kind == yaml.MappingNode {
		d.Refuse(v, fmt.Sprintf("there are %d labels", n), fmt.Sprintf("the most is %d", maxNodeLabels))
		return
	}
	if v.Kind == yaml.MappingNode && len(v.Content) == 0 {
		d.Refuse(v, "there are no labels", "write one, or leave node out")
		return
	}
	d.Pairs(v, func(key *yaml.Node, val value) {
		text, ok := d.Text(val)
		if !ok {
			return
		}
		if err := CheckNodeLabel(key.Value, text); err != nil {
			what, do := yamlfile.SplitAdvice(err)
			d.Fail(yamlfile.PositionOf(key), val.Path, what, do)
			return
		}
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key.Value] = text
	})
}

// CheckNodeLabel says whether a node may carry a label, and an app ask for it.
func CheckNodeLabel(key, value string) error {
	if err := checkLabelKey(key); err != nil {
		return err
	}
	if len(value) > maxNodeLabelValueBytes {
		return yamlfile.Advise(fmt.Sprintf("the value has %d bytes", len(value)), fmt.Sprintf("the most is %d", maxNodeLabelValueBytes))
	}
	return nil
}

func readDisconnect(d *decoder, v value, p *Placement) {
	if v.Kind == yaml.MappingNode {
		yamlfile.Section(d, v, disconnectFields(), p)
		return
	}
	word, ok := d.Text(v)
	switch {
	case !ok:
	case word == "keep":
		p.Keep = true
	default:
		do := "write keep, or {move_after: " + FormatDuration(DefaultMoveAfter) + "}"
		if t, err := ParseDuration(word); err == nil && t > 0 {
			do = "write {move_after: " + FormatDuration(t) + "}"
		}
		d.Refuse(v, yamlfile.Quote(word)+" is not known here", do)
	}
}

// placementRules: what is spread has to bear it, and what is in volumes is not
// left behind.
func (d *decoder) placementRules(app *appDraft) {
	p := app.placement
	if _, written := d.At["on_disconnect.move_after"]; written {
		for _, s := range app.services {
			if s.mounts() {
				d.RefuseAt("on_disconnect.move_after", "the service "+s.Name+" has volumes, which stay on their node",
					"write on_disconnect: keep, or leave it out")
				break
			}
		}
	}
	if !p.Spread {
		return
	}
	if p.Node != "" {
		d.RefuseAt("spread", "one node is named, so there is nothing to spread over", "ask for nodes by labels, or leave spread out")
	}
	if n := len(app.services); n > 1 {
		d.RefuseAt("spread", fmt.Sprintf("the app has %d services, which reach each other by name on one node only", n),
			"make it an app of its own for each service that is to be spread, or leave spread out")
		return
	}
	for _, s := range app.services {
		if why := s.boundToNode(); why != "" {
			d.RefuseAt("spread", "the service "+s.Name+" cannot run on several nodes: "+why, "leave spread out")
		}
	}
}

// boundToNode says what of a service is on one node and not on others.
func (s *Service) boundToNode() string {
	for _, m := range s.Members() {
		for _, v := range m.Volumes {
			return v.what() + " is on one node"
		}
		for _, p := range m.Publish {
			if p.Pinned() {
				return fmt.Sprintf("clients know the port %d of one host", p.HostPort)
			}
		}
	}
	return ""
}

// placement compares where services run.
func (d *differ) placement(old, new Placement) {
	d.text("node", formatNode(old), formatNode(new), EffectPlace)
	d.text("spread", formatFlag(old.Spread), formatFlag(new.Spread), EffectPlace)
	d.text("on_disconnect", formatDisconnect(old), formatDisconnect(new), EffectSettings)
}

func formatNode(p Placement) string {
	labels := make([]string, 0, len(p.Labels))
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		value := p.Labels[key]
		labels = append(labels, key+": "+formatText(&value))
	}
	switch {
	case len(labels) == 0:
		return p.Node
	case p.Node == "":
		return "labels {" + strings.Join(labels, ", ") + "}"
	}
	return p.Node + ", labels {" + strings.Join(labels, ", ") + "}"
}

func formatDisconnect(p Placement) string {
	switch {
	case p.Keep:
		return "keep"
	case p.MoveAfter == 0 || p.MoveAfter == DefaultMoveAfter:
		return ""
	}
	return "move_after " + FormatDuration(p.MoveAfter)
}
