package workloads

import (
	"strings"

	"github.com/berth-cloud/berth/provider"
)

// sentinels begin, or end, the texts of errors of package provider. Who reads an
// answer is told by its type.
var sentinels = []error{
	provider.ErrNotFound, provider.ErrConflict, provider.ErrBusy, provider.ErrUnsupportedSource, provider.ErrNotSupported, provider.ErrInvalid,
	provider.ErrNoRecord, provider.ErrUnavailable, provider.ErrNotReady, provider.ErrProviderNotFound,
}

// family begins their texts.
const family = "provider: "

// plainText is the text of an error without what tells programs its kind.
func plainText(text string) string {
	for again := true; again; {
		again = false
		for _, kind := range sentinels {
			rest, ok := strings.CutPrefix(text, kind.Error()+": ")
			if ok {
				text, again = rest, true
			}
		}
	}
	for _, kind := range sentinels {
		text = strings.ReplaceAll(text, kind.Error(), strings.TrimPrefix(kind.Error(), family))
	}
	return text
}
