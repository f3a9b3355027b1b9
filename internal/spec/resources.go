package spec

import "github.com/berth-cloud/berth/internal/spec/yamlfile"

// Bounds of resources.
const (
	minMemoryBytes = 6 << 20 // less than this no engine accepts
	minMilliCPU    = 10
	maxMilliCPU    = 1024 * 1000
)

// resourceFields are the keys of resources.
func resourceFields() []field[Resources] {
	return []field[Resources]{
		{Name: "memory", Read: readMemory},
		{Name: "cpu", Read: readCPU},
	}
}

func readMemory(d *decoder, v value, r *Resources) {
	text, ok := d.Text(v)
	if !ok {
		return
	}
	n, err := ParseBytes(text)
	switch {
	case err != nil:
		d.RefuseErr(v, err)
	case n < minMemoryBytes && n > 0 && n < 1<<16:
		// A bare small number is nearly always meant as mebibytes.
		d.Refuse(v, yamlfile.QuoteBare(text)+" is "+FormatBytes(n)+plural(n, " byte"), "the least is 6Mi; write "+FormatBytes(n<<20)+" if mebibytes are meant")
	case n < minMemoryBytes:
		d.Refuse(v, yamlfile.QuoteBare(text)+" is less memory than a program starts in", "the least is 6Mi")
	default:
		r.MemoryBytes = n
	}
}

func plural(n int64, unit string) string {
	if n == 1 {
		return unit
	}
	return unit + "s"
}

func readCPU(d *decoder, v value, r *Resources) {
	text, ok := d.Text(v)
	if !ok {
		return
	}
	n, err := ParseMilliCPU(text)
	switch {
	case err != nil:
		d.RefuseErr(v, err)
	case n < minMilliCPU || n > maxMilliCPU:
		d.Refuse(v, yamlfile.QuoteBare(text)+" is out of range", "write cores from "+FormatMilliCPU(minMilliCPU)+" to "+FormatMilliCPU(maxMilliCPU))
	default:
		r.MilliCPU = n
	}
}
