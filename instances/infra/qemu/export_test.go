package qemu

import "github.com/berth-cloud/berth/instances/infra/hostdir"

// CutBefore makes the provider's calls end before an effect when cut says so.
func (p *Provider) CutBefore(cut func(effect string) error) { p.host.Before = cut }

// IsoVolume writes a volume.
var IsoVolume = isoVolume

// IsoFiles are files of a volume.
func IsoFiles(of map[string][]byte) (files []isoFile) {
	for name, content := range of {
		files = append(files, isoFile{name, content})
	}
	return files
}

// StatusOf maps the states of QEMU.
var StatusOf = statusOf

// Port is the name of a machine's port on a bridge.
func Port(providerID string) string {
	return record{Record: hostdir.Record{ProviderID: providerID}}.port()
}
