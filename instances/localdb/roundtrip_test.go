package localdb_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/instances/localdb"
)

// fill gives every member of a struct a value, none of which is empty when full is
// set. A kind of member that it does not know fails the test.
func fill(t *rapid.T, to any, full bool) {
	v := reflect.ValueOf(to).Elem()
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		empty := !full && rapid.Bool().Draw(t, name+" is empty")
		if empty && f.Kind() != reflect.Bool {
			continue
		}
		switch f.Interface().(type) {
		case string:
			f.SetString(rapid.StringN(1, 20, -1).Draw(t, name))
		case bool:
			f.SetBool(full || !empty)
		case int64:
			f.SetInt(rapid.Int64Min(1).Draw(t, name))
		case time.Time:
			f.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(-9e9, 9e9).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, name)).UTC()))
		case json.RawMessage:
			f.SetBytes(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, name))
		case map[string]string:
			f.Set(reflect.ValueOf(rapid.MapOfN(rapid.String(), rapid.String(), 1, 4).Draw(t, name)))
		default:
			t.Fatalf("nobody fills %s, a %s", name, f.Type())
		}
	}
}

func drawInstance(t *rapid.T, n int, full bool) localdb.Instance {
	var i localdb.Instance
	fill(t, &i, full)
	i.ID = fmt.Sprint("i", n)
	i.Tenant = rapid.SampledFrom([]string{"acme", "bolt"}).Draw(t, "tenant")
	i.Group = rapid.SampledFrom([]string{"web", "db"}).Draw(t, "group")
	if i.NonceHash != "" {
		i.NonceHash = fmt.Sprint("hash of ", i.ID)
	}
	return i
}

func TestEveryFieldOfAnInstanceRoundTrips(t *testing.T) {
	d := openNew(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		want := drawInstance(rt, n, rapid.Bool().Draw(rt, "full"))
		if err := d.SaveInstance(t.Context(), want); err != nil {
			rt.Fatal(err)
		}
		got, err := d.Instance(t.Context(), want.ID)
		if err != nil || !reflect.DeepEqual(got, want) {
			rt.Fatalf("saved %+v\nread %+v, %v", want, got, err)
		}
		// A second save of the same changes nothing.
		if err := d.SaveInstance(t.Context(), want); err != nil {
			rt.Fatal(err)
		}
		if got, err = d.Instance(t.Context(), want.ID); err != nil || !reflect.DeepEqual(got, want) {
			rt.Fatalf("saved twice %+v\nread %+v, %v", want, got, err)
		}
	})
}

func TestARebuildKeepsEveryField(t *testing.T) {
	d := openNew(t)
	rapid.Check(t, func(rt *rapid.T) {
		want := map[string]localdb.Instance{}
		for n := range rapid.IntRange(0, 5).Draw(rt, "instances") {
			i := drawInstance(rt, n, rapid.Bool().Draw(rt, "full"))
			want[i.ID] = i
		}
		if err := d.ReplaceInstances(t.Context(), slices.Collect(maps.Values(want))); err != nil {
			rt.Fatal(err)
		}
		all, err := d.Instances(t.Context(), localdb.Query{Deleted: localdb.WithDeleted})
		if err != nil || len(all) != len(want) {
			rt.Fatalf("%d instances, %v; want %d", len(all), err, len(want))
		}
		for _, got := range all {
			if !reflect.DeepEqual(got, want[got.ID]) {
				rt.Fatalf("filled with %+v\nread %+v", want[got.ID], got)
			}
		}
	})
}

func TestEveryFieldOfAGroupAndAnImageRoundTrips(t *testing.T) {
	d := openNew(t)
	rapid.Check(t, func(rt *rapid.T) {
		var g localdb.Group
		var i localdb.Image
		fill(rt, &g, true)
		fill(rt, &i, true)
		if err := d.DeleteGroup(t.Context(), g.Tenant, g.Key); err != nil {
			rt.Fatal(err)
		}
		if err := d.SaveGroup(t.Context(), g); err != nil {
			rt.Fatal(err)
		}
		if got, err := d.Group(t.Context(), g.Tenant, g.Key); err != nil || got != g {
			rt.Fatalf("saved %+v, read %+v, %v", g, got, err)
		}
		_, known := d.Image(t.Context(), i.Name)
		if err := d.SaveImage(t.Context(), i); err != nil {
			rt.Fatal(err)
		}
		if got, err := d.Image(t.Context(), i.Name); err != nil || known != nil && got != i {
			rt.Fatalf("saved %+v, read %+v, %v", i, got, err)
		}
	})
}
