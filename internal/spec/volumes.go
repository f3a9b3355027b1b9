package spec

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// maxVolumes bounds the volumes of one container.
const maxVolumes = 50

// volumeFields are the keys of one volume.
func volumeFields() []field[Volume] {
	return []field[Volume]{
		{Name: "name", Read: func(d *decoder, v value, into *Volume) {
			name, ok := d.Text(v)
			if !ok {
				return
			}
			into.Name = name
			if err := CheckName(name); err != nil {
				d.RefuseErr(v, err)
			}
		}},
		{Name: "host_path", Read: func(d *decoder, v value, into *Volume) {
			path, ok := d.Str(v)
			if !ok {
				return
			}
			into.HostPath = path
			if err := CheckHostPath(path, d.opts.AllowHostPaths, d.opts.DenyHostPaths); err != nil {
				d.RefuseErr(v, err)
			}
		}},
		{Name: "path", Required: true, Read: func(d *decoder, v value, into *Volume) {
			path, ok := d.Str(v)
			if !ok {
				return
			}
			into.Path = path
			if err := checkMountPath(path); err != nil {
				d.RefuseErr(v, err)
			}
		}},
		{Name: "read_only", Read: func(d *decoder, v value, into *Volume) { into.ReadOnly, _ = d.Boolean(v) }},
		{Name: "shared", Read: func(d *decoder, v value, into *Volume) { into.Shared, _ = d.Boolean(v) }},
	}
}

// checkMountPath says whether something may be mounted there in a container.
func checkMountPath(p string) error {
	if err := checkAbsolute(p); err != nil {
		return err
	}
	if p == "/" {
		return yamlfile.Advise("a volume cannot replace the whole file system", "mount it in a folder, for example /data")
	}
	for _, system := range []string{"/proc", "/sys"} {
		if within(p, system) {
			return yamlfile.Advise(yamlfile.Quote(p)+" belongs to the kernel", "mount it in a folder of its own, for example /data")
		}
	}
	return nil
}

func readVolumes(d *decoder, v value, m *memberDraft) {
	if len(v.Content) > maxVolumes && v.Kind == yaml.SequenceNode {
		d.Refuse(v, fmt.Sprintf("there are %d volumes", len(v.Content)), fmt.Sprintf("the most is %d a service", maxVolumes))
		return
	}
	d.Items(v, "[{name: data, path: /data}]", func(i int, item value) {
		if item.Kind == yaml.ScalarNode {
			d.Refuse(item, "the volume is one text", "write "+volumeExample(item.Value))
			return
		}
		var vol Volume
		before := d.Errs.Count()
		yamlfile.Section(d, item, volumeFields(), &vol)
		switch {
		case item.Kind != yaml.MappingNode || d.Errs.Count() > before:
			return
		case vol.Name == "" && vol.HostPath == "":
			d.Refuse(item, "the volume has neither name nor host_path", "write name for a volume that Berth keeps")
			return
		case vol.Name != "" && vol.HostPath != "":
			d.Refuse(item, "the volume has both name and host_path", "keep one")
			return
		case slices.ContainsFunc(m.Volumes, func(o Volume) bool { return o.Path == vol.Path }):
			d.Refuse(item, "two volumes are mounted at "+vol.Path, "give each a path of its own")
			return
		}
		m.Volumes = append(m.Volumes, vol)
		d.At[volumePath(m.path, vol.Path)] = item.Position()
	})
	slices.SortFunc(m.Volumes, func(a, b Volume) int { return strings.Compare(a.Path, b.Path) })
}

// volumePath is a path at which no key can be: it leads to a volume by where it
// is mounted.
func volumePath(member, mount string) string { return member + ".volumes[" + mount }

// volumeExample turns data:/data:ro into a map.
func volumeExample(text string) string {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || len(text) > yamlfile.MaxQuoted || strings.ContainsFunc(text, isControl) {
		return "{name: data, path: /data}"
	}
	key, readOnly := "name", ""
	if strings.ContainsAny(parts[0], "/.") {
		key = "host_path"
	}
	if len(parts) == 3 && parts[2] == "ro" {
		readOnly = ", read_only: true"
	}
	return fmt.Sprintf("{%s: %s, path: %s%s}", key, parts[0], parts[1], readOnly)
}
