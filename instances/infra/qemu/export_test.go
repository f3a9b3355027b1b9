package qemu

// CutBefore makes the provider's calls end before an effect when cut says so.
func (p *Provider) CutBefore(cut func(effect string) error) { p.before = cut }

// IsoVolume is a volume with one file for each name.
var IsoVolume = isoVolume

// IsoFile is a file of a volume.
func IsoFile(name string, content []byte) isoFile { return isoFile{name, content} }

// StatusOf maps the states of QEMU.
var StatusOf = statusOf
