package settings

import (
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]{0,30}[A-Za-z0-9])?$`)
)

// name is a word that metrics, records and callbacks can have in them.
func (d *decoder) name(v value) string {
	text, ok := d.Str(v)
	if ok && !nameForm.MatchString(text) {
		d.Refuse(v, yamlfile.Quote(text)+" is not a name", "write 1 to 63 letters, digits and any of . _ -, with a letter or digit first")
	}
	return text
}

func (d *decoder) listen(v value) string {
	text, ok := d.Str(v)
	if !ok {
		return ""
	}
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		d.Refuse(v, yamlfile.Quote(text)+" is not an address to listen on", "write an address and a port, 127.0.0.1:9001 for example")
	}
	return text
}

// file is the name of a file, from the root.
func (d *decoder) file(v value) string {
	text, ok := d.Str(v)
	switch {
	case !ok:
		return ""
	case text == "":
		d.Refuse(v, "the name of the file is empty", "write one, or leave the key out")
		return ""
	case filepath.IsAbs(text):
		return text
	}
	return filepath.Join(d.dir, text)
}

func (d *decoder) engine(v value) string {
	text, ok := d.Str(v)
	if ok && !strings.HasPrefix(text, "unix:///") && !strings.HasPrefix(text, "tcp://") {
		d.Refuse(v, yamlfile.Quote(text)+" is not the address of an engine", "write it as unix:///var/run/docker.sock")
	}
	return text
}

func (d *decoder) networkPrefix(v value) string {
	text, ok := d.Str(v)
	if ok && !prefixForm.MatchString(text) {
		d.Refuse(v, yamlfile.Quote(text)+" cannot begin the names of networks", "write up to 32 letters, digits, - and _, with a letter or digit at both ends")
	}
	return text
}

func (d *decoder) pool(v value) netip.Prefix {
	text, ok := d.Str(v)
	if !ok {
		return netip.Prefix{}
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() || p.Bits() > 24 || p != p.Masked() {
		d.Refuse(v, yamlfile.Quote(text)+" is not a pool of networks", "write an IPv4 prefix of /24 or larger, "+DefaultNetworkPool+" for example; each lease takes a /24")
	}
	return p
}

func (d *decoder) address(v value) netip.Addr {
	text, ok := d.Str(v)
	if !ok {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		d.Refuse(v, yamlfile.Quote(text)+" is not an address of this machine", "write one, 0.0.0.0 for all")
	}
	return a
}

// host is a name or an address, as clients write it.
func (d *decoder) host(v value) string {
	text, ok := d.Str(v)
	if ok && (text == "" || len(text) > 253 || strings.ContainsAny(text, " \t\r\n/*@")) {
		d.Refuse(v, yamlfile.Quote(text)+" is not the name of a host", "write a name or an address, without a port")
	}
	return text
}

// number is one with decimals. The catalogue of SKUs says what it may be.
func (d *decoder) number(v value) float64 {
	text, ok := d.Text(v)
	if !ok {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || v.Tag != "!!int" && v.Tag != "!!float" {
		d.Refuse(v, yamlfile.Quote(text)+" is not a number", "write one, 0.25 for example")
	}
	return n
}

// milli is cores, in thousandths.
func (d *decoder) milli(v value) int64 {
	n, err := sku.MilliCPU(d.number(v))
	if err != nil {
		d.Refuse(v, "the number "+err.Error(), "write cores, 0.25 for example")
	}
	return n
}

func (d *decoder) megabytes(v value) int64 {
	n, _ := d.Integer(v, 0, maxMB)
	return int64(n)
}
