package storetest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
)

// trip writes an entity with every field set and says what shall be read back
// after the store was closed and opened, and how.
type trip struct {
	entity reflect.Type
	// write returns the value that is expected, with the fields that the store
	// sets taken from its answer.
	write func(*env, *filler) any
	read  func(*env, any) any
}

func roundTripTests() []test {
	tests := []test{{"CoversEveryEntityOfTheInterface", roundTripComplete}, {"FillerSetsEveryField", roundTripFiller}}
	for _, r := range trips() {
		tests = append(tests, test{r.entity.Name(), func(e *env) {
			want := r.write(e, &filler{})
			e.reopen()
			got := r.read(e, want)
			if !reflect.DeepEqual(got, want) {
				e.Errorf("wrote %+v\nread  %+v", want, got)
			}
			for _, field := range zeros(reflect.ValueOf(got), r.entity.Name()) {
				e.Errorf("%s came back empty: the store, or this test, forgets it", field)
			}
		}})
	}
	return tests
}

// roundTripComplete finds the structs that the interface hands out, so that an
// entity added to it needs its round trip.
func roundTripComplete(e *env) {
	covered := map[reflect.Type]bool{}
	for _, r := range trips() {
		covered[r.entity] = true
	}
	iface := reflect.TypeFor[store.Store]()
	found := 0
	for i := range iface.NumMethod() {
		m := iface.Method(i)
		for o := range m.Type.NumOut() {
			t := m.Type.Out(o)
			for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, t.Kind()) {
				t = t.Elem()
			}
			if t.Kind() != reflect.Struct || !strings.Contains(t.PkgPath(), "/internal/") {
				continue
			}
			found++
			if !covered[t] {
				e.Errorf("%s returns %s, which has no round trip", m.Name, t)
			}
		}
	}
	if found == 0 {
		e.Error("no entity was found")
	}
}

func roundTripFiller(e *env) {
	f := &filler{}
	for _, v := range []any{filled[store.DesiredService](f), filled[store.Release](f), filled[store.ActiveRelease](f),
		filled[store.KeptLog](f), filled[store.TraceEvent](f), filled[reconcile.Condition](f)} {
		if z := zeros(reflect.ValueOf(v), reflect.TypeOf(v).Name()); len(z) > 0 {
			e.Errorf("not filled: %v", z)
		}
	}
	if z := zeros(reflect.ValueOf(store.Release{ID: "x"}), "Release"); !slices.Contains(z, "Release.Version") || slices.Contains(z, "Release.ID") {
		e.Errorf("empty fields of a release with an id: %v", z)
	}
}
