package spec

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// Bounds of labels.
const (
	maxLabels          = 32
	maxLabelKeyBytes   = 255
	maxLabelValueBytes = 4096
	// reservedLabelPrefix marks the labels that say what is Berth's.
	reservedLabelPrefix = "berth."
)

func readLabels(d *decoder, v value, s *serviceDraft) {
	if n := len(v.Content) / 2; n > maxLabels && v.Kind == yaml.MappingNode {
		d.Refuse(v, fmt.Sprintf("there are %d labels", n), fmt.Sprintf("the most is %d", maxLabels))
		return
	}
	d.Pairs(v, func(key *yaml.Node, val value) {
		if err := checkLabelKey(key.Value); err != nil {
			what, do := yamlfile.SplitAdvice(err)
			d.Fail(yamlfile.PositionOf(key), val.Path, what, do)
			return
		}
		text, ok := d.Text(val)
		switch {
		case !ok:
			return
		case len(text) > maxLabelValueBytes:
			d.Refuse(val, fmt.Sprintf("the value has %d bytes", len(text)), fmt.Sprintf("the most is %d", maxLabelValueBytes))
			return
		}
		if s.Labels == nil {
			s.Labels = map[string]string{}
		}
		s.Labels[key.Value] = text
	})
}

func checkLabelKey(key string) error {
	switch {
	case key == "":
		return yamlfile.Advise("the label has no name", "write one")
	case len(key) > maxLabelKeyBytes:
		return yamlfile.Advise(fmt.Sprintf("the label's name has %d bytes", len(key)), fmt.Sprintf("the most is %d", maxLabelKeyBytes))
	case strings.HasPrefix(strings.ToLower(key), reservedLabelPrefix):
		return yamlfile.Advise("labels that begin with "+reservedLabelPrefix+" are Berth's own", "name it differently")
	case strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return yamlfile.Advise(yamlfile.Quote(key)+" is not the name of a label", "write it without spaces and control characters")
	}
	return nil
}
