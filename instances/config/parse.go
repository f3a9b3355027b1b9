package config

import "reflect"

// Parse reads a configuration: JSON with comments and commas at the end, complete
// and valid, or [*Errors] with all that is wrong. name is what errors call the
// text. The groups are those of the text alone; see WithDynamic.
func Parse(name string, raw []byte) (*Config, error) {
	c := defaults()
	d, err := decode(name, raw, c)
	if err != nil {
		return nil, err
	}
	c.settle()
	d.config(c)
	if err := d.errors(name); err != nil {
		return nil, err
	}
	return c, nil
}

// ParseGroups reads a file of dynamic groups, by tenant and name. Whether they go
// with a configuration is WithDynamic's to say.
func ParseGroups(name string, raw []byte) (Groups, error) {
	groups := Groups{}
	d, err := decode(name, raw, &groups)
	if err != nil {
		return nil, err
	}
	for key, g := range groups.all() {
		d.key(key.Tenant+"."+key.Group, key)
		d.groupValues(key.Tenant+"."+key.Group, g)
	}
	if err := d.errors(name); err != nil {
		return nil, err
	}
	return groups, nil
}

// decode reads a text into a pointer. The error is one of syntax; all others are
// the decoder's, so that rules are checked too.
func decode(name string, raw []byte, into any) (*decoder, error) {
	v, problem := parse(raw)
	if problem != nil {
		return nil, &Errors{Name: name, Problems: []Problem{*problem}}
	}
	d := &decoder{text: text{raw}}
	d.place = d.text.place
	d.value("", &v, reflect.ValueOf(into).Elem())
	return d, nil
}
