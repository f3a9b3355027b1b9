package config

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// decoder reads a syntax tree into a struct by its json tags, and goes on after
// a problem. What a text leaves out keeps the value it had.
type decoder struct {
	text text
	checker
}

var durationType = reflect.TypeFor[Duration]()

// value reads one value.
func (d *decoder) value(path string, v *hujson.Value, into reflect.Value) {
	d.seen(path, v.StartOffset)
	if lit, ok := v.Value.(hujson.Literal); ok && lit.Kind() == 'n' {
		d.bad(path, "null says nothing here; leave the key out")
		return
	}
	if into.Type() == durationType {
		d.duration(path, v, into)
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		p := reflect.New(into.Type().Elem())
		d.value(path, v, p.Elem())
		into.Set(p)
	case reflect.Struct:
		d.object(path, v, into)
	case reflect.Map:
		d.mapping(path, v, into)
	case reflect.Slice:
		d.list(path, v, into)
	case reflect.Interface:
		d.free(path, v, into)
	default:
		d.scalar(path, v, into)
	}
}

// members are the members of an object by name, each once.
func (d *decoder) members(path string, v *hujson.Value, each func(name string, offset int, value *hujson.Value)) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		d.bad(path, "this is %s, and has to be an object {…}", kindOf(v))
		return
	}
	met := map[string]bool{}
	for i := range object.Members {
		member := &object.Members[i]
		name := member.Name.Value.(hujson.Literal).String()
		if met[name] {
			d.badAt(member.Name.StartOffset, join(path, name), "this key stands here a second time")
			continue
		}
		met[name] = true
		each(name, member.Name.StartOffset, &member.Value)
	}
}

func (d *decoder) object(path string, v *hujson.Value, into reflect.Value) {
	fields := fieldsOf(into.Type())
	d.members(path, v, func(name string, offset int, value *hujson.Value) {
		i, ok := fields[name]
		if !ok {
			d.badAt(offset, join(path, name), "this key is not known; those here are %s", strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
			return
		}
		d.value(join(path, name), value, into.Field(i))
	})
}

// fieldsOf are the fields of a struct by the name in their json tag.
func fieldsOf(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = i
		}
	}
	return fields
}

func (d *decoder) mapping(path string, v *hujson.Value, into reflect.Value) {
	if into.IsNil() {
		into.Set(reflect.MakeMap(into.Type()))
	}
	d.members(path, v, func(name string, _ int, value *hujson.Value) {
		element := reflect.New(into.Type().Elem()).Elem()
		d.value(join(path, name), value, element)
		if element.Kind() == reflect.Interface && element.IsNil() {
			return // a problem, and no value
		}
		into.SetMapIndex(reflect.ValueOf(name), element)
	})
}

func (d *decoder) list(path string, v *hujson.Value, into reflect.Value) {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		d.bad(path, "this is %s, and has to be a list […]", kindOf(v))
		return
	}
	list := reflect.MakeSlice(into.Type(), len(array.Elements), len(array.Elements))
	for i := range array.Elements {
		d.value(fmt.Sprintf("%s[%d]", path, i), &array.Elements[i], list.Index(i))
	}
	into.Set(list)
}

// free reads a value of any type: an argument.
func (d *decoder) free(path string, v *hujson.Value, into reflect.Value) {
	switch value := v.Value.(type) {
	case *hujson.Object:
		object := map[string]any{}
		d.mapping(path, v, reflect.ValueOf(&object).Elem())
		into.Set(reflect.ValueOf(object))
	case *hujson.Array:
		list := []any{}
		d.list(path, v, reflect.ValueOf(&list).Elem())
		into.Set(reflect.ValueOf(list))
	case hujson.Literal:
		switch value.Kind() {
		case '"':
			into.Set(reflect.ValueOf(value.String()))
		case '0':
			d.freeNumber(path, value, into)
		default:
			into.Set(reflect.ValueOf(value.Bool()))
		}
	}
}

func (d *decoder) freeNumber(path string, lit hujson.Literal, into reflect.Value) {
	f, err := strconv.ParseFloat(string(lit), 64)
	if err != nil || math.Abs(f) > maxWhole {
		d.bad(path, "%s is not kept exactly; write it as a text", clip(string(lit)))
		return
	}
	into.Set(reflect.ValueOf(f + 0))
}

func (d *decoder) duration(path string, v *hujson.Value, into reflect.Value) {
	lit, ok := v.Value.(hujson.Literal)
	if !ok || lit.Kind() != '"' {
		d.bad(path, "this is %s, and has to be a duration: a text with its unit, such as \"30s\" or \"504h\"", kindOf(v))
		return
	}
	parsed, err := ParseDuration(lit.String())
	if err != nil {
		d.bad(path, "%v", err)
		return
	}
	into.SetInt(int64(parsed))
}

func (d *decoder) scalar(path string, v *hujson.Value, into reflect.Value) {
	lit, ok := v.Value.(hujson.Literal)
	switch into.Kind() {
	case reflect.String:
		if !ok || lit.Kind() != '"' {
			d.bad(path, "this is %s, and has to be a text in quotes", kindOf(v))
			return
		}
		into.SetString(lit.String())
	case reflect.Bool:
		if !ok || lit.Kind() != 't' && lit.Kind() != 'f' {
			d.bad(path, "this is %s, and has to be true or false", kindOf(v))
			return
		}
		into.SetBool(lit.Bool())
	case reflect.Int:
		n, err := strconv.ParseInt(string(lit), 10, 32)
		if !ok || lit.Kind() != '0' || err != nil {
			d.bad(path, "this is %s, and has to be a whole number", kindOf(v))
			return
		}
		into.SetInt(n)
	default:
		d.bad(path, "this cannot be read")
	}
}

func kindOf(v *hujson.Value) string {
	switch value := v.Value.(type) {
	case *hujson.Object:
		return "an object"
	case *hujson.Array:
		return "a list"
	case hujson.Literal:
		switch value.Kind() {
		case '"':
			return "a text"
		case '0':
			return "the number " + clip(string(value))
		}
		return string(value)
	}
	return "nothing"
}

func join(path, name string) string {
	name = clip(name)
	if path == "" {
		return name
	}
	return path + "." + name
}
