package vaulttest

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/secrets"
)

// model is what a vault shall hold.
type model struct {
	values map[secrets.Ref][]modelValue
	used   map[secrets.Ref]secrets.Version // the highest version ever given
}

type modelValue struct {
	version secrets.Version
	value   string
}

// modelAgrees compares random calls with the model. Each run has tenants of its
// own in one vault: to open one costs more than the run.
func modelAgrees(e *vaultEnv) {
	v, runs := e.v, 0
	rapid.Check(e.T, func(t *rapid.T) {
		runs++
		tenants := []string{fmt.Sprint("a", runs), fmt.Sprint("b", runs)}
		m := &model{map[secrets.Ref][]modelValue{}, map[secrets.Ref]secrets.Version{}}
		ref := rapid.Custom(func(t *rapid.T) secrets.Ref {
			return at(tenants[rapid.IntRange(0, 1).Draw(t, "tenant")], rapid.SampledFrom([]string{"k", "k/l"}).Draw(t, "key"))
		})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				m.put(t, e, v, ref.Draw(t, "ref"), rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "value"))
			},
			"get": func(t *rapid.T) {
				m.get(t, e, v, ref.Draw(t, "ref"), secrets.Version(rapid.Int64Range(-1, 6).Draw(t, "version")))
			},
			"delete": func(t *rapid.T) {
				r := ref.Draw(t, "ref")
				if err := v.Delete(e.ctx, r); err != nil {
					t.Fatal(err)
				}
				delete(m.values, r)
			},
			"": func(t *rapid.T) { m.check(t, e, v, tenants) },
		})
	})
}

func (m *model) put(t *rapid.T, e *vaultEnv, v secrets.Vault, ref secrets.Ref, value string) {
	got, err := v.Put(e.ctx, ref, secrets.NewSecretString(value))
	if err != nil {
		t.Fatal(err)
	}
	values := m.values[ref]
	if n := len(values); n > 0 && values[n-1].value == value {
		if got != values[n-1].version {
			t.Fatalf("the same value of %s became version %d", ref, got)
		}
		return
	}
	if got <= m.used[ref] {
		t.Fatalf("version %d of %s comes after %d", got, ref, m.used[ref])
	}
	m.used[ref] = got
	m.values[ref] = append(values, modelValue{got, value})
}

func (m *model) get(t *rapid.T, e *vaultEnv, v secrets.Vault, ref secrets.Ref, version secrets.Version) {
	s, got, err := v.Get(e.ctx, ref, version)
	values := m.values[ref]
	i := slices.IndexFunc(values, func(o modelValue) bool { return o.version == version })
	if version == 0 {
		i = len(values) - 1
	}
	if i < 0 {
		if !errors.Is(err, secrets.ErrNotFound) {
			t.Fatalf("get %s version %d: %v", ref, version, err)
		}
		return
	}
	if err != nil || got != values[i].version || s.RevealString() != values[i].value {
		t.Fatalf("get %s version %d: %q as version %d, %v; want %v", ref, version, s.RevealString(), got, err, values[i])
	}
}

func (m *model) check(t *rapid.T, e *vaultEnv, v secrets.Vault, tenants []string) {
	for _, tenant := range tenants {
		all, err := v.List(e.ctx, tenant)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []modelKey
		for ref, values := range m.values {
			if ref.Tenant == tenant {
				want = append(want, modelKey{ref.Key, values[len(values)-1].version})
			}
		}
		for _, l := range all {
			got = append(got, modelKey{l.Key, l.Version})
		}
		slices.SortFunc(want, func(a, b modelKey) int { return len(a.key) - len(b.key) })
		if !slices.Equal(got, want) {
			t.Fatalf("tenant %s lists %v, want %v", tenant, got, want)
		}
	}
}

type modelKey struct {
	key     string
	version secrets.Version
}
