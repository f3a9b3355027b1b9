package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// name is a word that metrics, records and callbacks can have in them.
func (d *decoder) name(v value) string {
	text, ok := d.Str(v)
	if ok && !nameForm.MatchString(text) {
		d.Refuse(v, yamlfile.Quote(text)+" is not a name", "write 1 to 63 letters, digits and any of . _ -, with a letter or digit first")
		return ""
	}
	return text
}

// maxSKUBytes bounds a SKU.
const maxSKUBytes = 253

// skus are compared letter by letter, so what no eye can see is refused.
func (d *decoder) skus(v value) []string {
	const example = "[a1b2c3d4-e5f6-7890-abcd-1234567890ab]"
	var out []string
	seen := map[string]int{}
	d.Items(v, example, func(_ int, item value) {
		text, ok := d.Text(item)
		switch {
		case !ok:
		case text == "" || len(text) > maxSKUBytes || strings.ContainsFunc(text, notInSKU):
			d.Refuse(item, yamlfile.Quote(text)+" is not a SKU", fmt.Sprintf("write up to %d visible characters without spaces", maxSKUBytes))
		case seen[text] > 0:
			d.Refuse(item, "the SKU is listed twice", fmt.Sprintf("keep one; the other is on line %d", seen[text]))
		default:
			seen[text] = item.Line
			out = append(out, text)
		}
	})
	return out
}

func notInSKU(r rune) bool { return r <= ' ' || r > '~' }

func (d *decoder) count(v value) uint32 {
	n, _ := d.Integer(v, 1, maxCount)
	return uint32(n)
}

// file is the name of a file.
func (d *decoder) file(v value) string {
	text, ok := d.Str(v)
	if ok && text == "" {
		d.Refuse(v, "the name of the file is empty", "write one, or leave the key out")
	}
	return text
}

// url is where a backend is reached. What is refused is not repeated, as a
// password may stand in it.
func (d *decoder) url(v value) string {
	text, ok := d.Str(v)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	const example = "write it as https://docker-1.internal:9001"
	switch {
	case err != nil:
		d.Refuse(v, "this is not a URL", example)
	case u.Scheme != "http" && u.Scheme != "https":
		d.Refuse(v, "the URL does not begin with http:// or https://", example)
	case u.Hostname() == "":
		d.Refuse(v, "the URL has no host", example)
	case !isPort(u.Port()):
		d.Refuse(v, "the port in the URL is out of range", "write one from 1 to 65535")
	case u.User != nil:
		d.Refuse(v, "the URL has a user in it", "requests are signed: remove the user, and write secret_file")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		d.Refuse(v, "the URL has a query or a fragment", "remove what begins with ? or #")
	default:
		return strings.TrimRight(u.String(), "/")
	}
	return ""
}

// isPort takes none for one, too.
func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return text == "" || err == nil && n >= 1 && n <= 65535
}
