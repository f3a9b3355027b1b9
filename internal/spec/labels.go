package spec

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
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
		d.refuse(v, fmt.Sprintf("there are %d labels", n), fmt.Sprintf("the most is %d", maxLabels))
		return
	}
	d.pairs(v, func(key *yaml.Node, val value) {
		if err := checkLabelKey(key.Value); err != nil {
			what, do := splitAdvice(err)
			d.fail(position{key.Line, key.Column}, val.path, what, do)
			return
		}
		text, ok := d.text(val)
		switch {
		case !ok:
			return
		case len(text) > maxLabelValueBytes:
			d.refuse(val, fmt.Sprintf("the value has %d bytes", len(text)), fmt.Sprintf("the most is %d", maxLabelValueBytes))
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
		return advise("the label has no name", "write one")
	case len(key) > maxLabelKeyBytes:
		return advise(fmt.Sprintf("the label's name has %d bytes", len(key)), fmt.Sprintf("the most is %d", maxLabelKeyBytes))
	case strings.HasPrefix(strings.ToLower(key), reservedLabelPrefix):
		return advise("labels that begin with "+reservedLabelPrefix+" are Berth's own", "name it differently")
	case strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return advise(quote(key)+" is not the name of a label", "write it without spaces and control characters")
	}
	return nil
}
