package spec

import (
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// maxServices bounds the services of one app: each takes addresses of the
// app's network.
const maxServices = 50

// MaxContainers bounds the containers of all replicas of one app together. Its
// network has 253 addresses; what is left is for a service that rolls, whose new
// containers stand beside the old ones.
const MaxContainers = 200

// appFields are the keys of the file.
func appFields() []field[appDraft] {
	return []field[appDraft]{
		{Name: "version", Read: readVersion},
		{Name: "name", Required: true, Read: func(d *decoder, v value, into *appDraft) {
			name, ok := d.Text(v)
			if !ok {
				return
			}
			if err := CheckName(name); err != nil {
				d.RefuseErr(v, err)
				return
			}
			into.name = name
		}},
		{Name: "services", Required: true, Read: readServices},
		{Name: "node", Read: func(d *decoder, v value, into *appDraft) { readNode(d, v, &into.placement) }},
		{Name: "spread", Read: func(d *decoder, v value, into *appDraft) { into.placement.Spread, _ = d.Boolean(v) }},
		{Name: "on_disconnect", Read: func(d *decoder, v value, into *appDraft) { readDisconnect(d, v, &into.placement) }},
	}
}

// appDraft is an app while it is read.
type appDraft struct {
	name      string
	services  []*serviceDraft // in the order of the file
	placement Placement
}

// app reads the whole file, then holds it against the rules that concern more
// than one value.
func (d *decoder) app(root *yaml.Node) *App {
	v, ok := d.Visit(root, "")
	if !ok {
		return nil
	}
	var draft appDraft
	yamlfile.Section(d, v, appFields(), &draft)
	d.rules(&draft)

	app := &App{Name: draft.name, Services: make(map[string]Service, len(draft.services))}
	for _, s := range draft.services {
		for _, m := range s.Members() {
			secretKeys(app.Name, m.Env)
		}
		s.Placement = draft.placement
		s.Placement.Labels = maps.Clone(draft.placement.Labels)
		app.Services[s.Name] = s.Service
	}
	return app
}

func readVersion(d *decoder, v value, _ *appDraft) {
	n, ok := d.Integer(v, 0, 1<<30)
	if ok && n != 1 {
		d.Refuse(v, fmt.Sprintf("version %d is not known", n), "write version: 1, or leave it out")
	}
}

func readServices(d *decoder, v value, into *appDraft) {
	refused := false
	d.Pairs(v, func(key *yaml.Node, val value) {
		if len(into.services) == maxServices {
			if !refused {
				d.Refuse(val, "the app has too many services", fmt.Sprintf("the most is %d", maxServices))
			}
			refused = true
			return
		}
		if err := CheckName(key.Value); err != nil {
			what, do := yamlfile.SplitAdvice(err)
			d.Fail(yamlfile.PositionOf(key), val.Path, what, do)
		}
		if yamlfile.IsNull(val.Node) {
			d.Refuse(val, "the service is empty", missingAdvice("image"))
			return
		}
		into.services = append(into.services, d.service(key.Value, val))
	})
	total := 0
	for _, s := range into.services {
		total += s.Replicas * s.members
	}
	if total > MaxContainers {
		d.Refuse(v, fmt.Sprintf("the services come to %d containers", total),
			fmt.Sprintf("the most of one app is %d; make it several apps", MaxContainers))
	}
	if v.Kind == yaml.MappingNode && len(v.Content) == 0 {
		d.Refuse(v, "there are no services", missingAdvice("services"))
	}
}
