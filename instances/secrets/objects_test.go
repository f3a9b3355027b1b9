package secrets_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
	values "github.com/berth-cloud/berth/secrets"
)

const planted = "planted-canary-value"

func set(t *testing.T, s secrets.Store, name, value string) {
	t.Helper()
	if err := s.Set(t.Context(), name, values.NewSecretString(value)); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, s secrets.Store, name, value string) {
	t.Helper()
	if got, err := s.Get(t.Context(), name); err != nil || got.RevealString() != value {
		t.Errorf("%s: %d bytes, %v; want %q", name, got.Len(), err, value)
	}
}

// fails checks the failure of a Get, which must not be an absence.
func fails(t *testing.T, s secrets.Store, name string, want error) {
	t.Helper()
	got, err := s.Get(t.Context(), name)
	if !errors.Is(err, want) || errors.Is(err, secrets.ErrNotFound) || !got.IsZero() {
		t.Errorf("%s: %d bytes, %v; want %v", name, got.Len(), err, want)
	}
	if err != nil && strings.Contains(err.Error(), planted) {
		t.Errorf("the error tells the value: %v", err)
	}
}

func blob(t *testing.T, s storage.Storage, name string) []byte {
	t.Helper()
	b, _, err := s.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAnObjectHoldsNoValue(t *testing.T) {
	st := storage.NewMemory()
	o := objects(t, st, newKey(t))
	set(t, o, "ca.key", planted)
	first := blob(t, st, "ca.key")
	if bytes.Contains(first, []byte(planted)) {
		t.Error("the object holds the value in clear")
	}
	set(t, o, "ca.key", planted)
	if bytes.Equal(first, blob(t, st, "ca.key")) {
		t.Error("one value is sealed the same way twice")
	}
}

func TestAnObjectCannotBeMovedToAnotherName(t *testing.T) {
	st := storage.NewMemory()
	o := objects(t, st, newKey(t))
	set(t, o, "ca.key", planted)
	set(t, o, "registration-nonce.key", "other")
	if _, err := st.Put(t.Context(), "registration-nonce.key", blob(t, st, "ca.key")); err != nil {
		t.Fatal(err)
	}
	fails(t, o, "registration-nonce.key", secrets.ErrTampered)
	holds(t, o, "ca.key", planted)
}

func TestEveryChangedByteIsFound(t *testing.T) {
	st := storage.NewMemory()
	o := objects(t, st, newKey(t))
	set(t, o, "k", planted)
	whole := blob(t, st, "k")
	put := func(b []byte) {
		if _, err := st.Put(t.Context(), "k", b); err != nil {
			t.Fatal(err)
		}
	}
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		put(changed)
		want := secrets.ErrTampered
		if i >= 9 && i < 17 {
			want = secrets.ErrWrongKey // the key's id
		}
		fails(t, o, "k", want)
	}
	for n := range whole {
		put(whole[:n])
		fails(t, o, "k", secrets.ErrTampered)
	}
	put(append(bytes.Clone(whole), 0))
	fails(t, o, "k", secrets.ErrTampered)
	put(make([]byte, 2*secrets.MaxValueBytes))
	fails(t, o, "k", secrets.ErrTampered)
	put(whole)
	holds(t, o, "k", planted)
}

func TestAWrongKeyIsNoAbsence(t *testing.T) {
	st := storage.NewMemory()
	mine, other := newKey(t), newKey(t)
	set(t, objects(t, st, mine), "k", planted)
	o := objects(t, st, other)
	fails(t, o, "k", secrets.ErrWrongKey)
	if err := o.SetIfAbsent(t.Context(), "k", values.NewSecretString("new")); !errors.Is(err, secrets.ErrExists) {
		t.Errorf("set over what cannot be opened: %v", err)
	}
	if _, err := o.Get(t.Context(), "k"); !strings.Contains(err.Error(), mine.ID()) {
		t.Errorf("%v does not name the key %s", err, mine.ID())
	}
}

func TestAFailingStoreIsNoAbsence(t *testing.T) {
	f := storagetest.NewFaulty(storage.NewMemory())
	o := objects(t, f, newKey(t))
	set(t, o, "k", planted)
	f.Kill()
	fails(t, o, "k", storage.ErrUnavailable)
	fails(t, o, "none", storage.ErrUnavailable)
	if _, err := o.Rewrap(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
		t.Error(err)
	}
}

func TestKeysRotate(t *testing.T) {
	st := storage.NewMemory()
	oldest, old, current := newKey(t), newKey(t), newKey(t)
	set(t, objects(t, st, oldest), "a", "of a")
	set(t, objects(t, st, old), "b", "of b")
	o := objects(t, st, current, old, oldest)
	set(t, o, "c", "of c")
	for _, name := range []string{"a", "b", "c"} {
		holds(t, o, name, "of "+name)
	}
	if n, err := o.Rewrap(t.Context()); n != 2 || err != nil {
		t.Errorf("%d were sealed anew, %v", n, err)
	}
	if n, err := o.Rewrap(t.Context()); n != 0 || err != nil {
		t.Errorf("a second time %d were sealed anew, %v", n, err)
	}
	alone := objects(t, st, current)
	for _, name := range []string{"a", "b", "c"} {
		holds(t, alone, name, "of "+name)
		fails(t, objects(t, st, old), name, secrets.ErrWrongKey)
	}
}

func TestARotationKeepsWhatItCannotOpen(t *testing.T) {
	st := storage.NewMemory()
	lost, old, current := newKey(t), newKey(t), newKey(t)
	set(t, objects(t, st, lost), "a", planted)
	set(t, objects(t, st, old), "b", "of b")
	before := blob(t, st, "a")
	o := objects(t, st, current, old)
	if n, err := o.Rewrap(t.Context()); n != 1 || !errors.Is(err, secrets.ErrWrongKey) {
		t.Errorf("%d were sealed anew, %v", n, err)
	}
	if !bytes.Equal(before, blob(t, st, "a")) {
		t.Error("what cannot be opened was changed")
	}
	holds(t, objects(t, st, current), "b", "of b")
}

func TestARotationLosesNoValueThatIsSetMeanwhile(t *testing.T) {
	f := storagetest.NewFaulty(storage.NewMemory())
	old, current := newKey(t), newKey(t)
	before := objects(t, f, old)
	set(t, before, "k", "before")
	meanwhile := true
	f.Before(func(_ context.Context, c storagetest.Call) error {
		if c.Op == storagetest.OpPutIfMatch && meanwhile {
			meanwhile = false
			set(t, before, "k", "meanwhile")
		}
		return nil
	})
	o := objects(t, f, current, old)
	if n, err := o.Rewrap(t.Context()); n != 1 || err != nil {
		t.Errorf("%d were sealed anew, %v", n, err)
	}
	holds(t, objects(t, f, current), "k", "meanwhile")
}

func TestARotationCutAnywhereIsMadeAgain(t *testing.T) {
	for _, mode := range []storagetest.Mode{storagetest.FailBefore, storagetest.FailAfter} {
		for cut := 1; cut <= 3; cut++ {
			f := storagetest.NewFaulty(storage.NewMemory())
			old, current := newKey(t), newKey(t)
			for i := range 3 {
				set(t, objects(t, f, old), fmt.Sprint(i), "value")
			}
			f.Inject(storagetest.Fault{At: cut, Mode: mode, Dies: true})
			o := objects(t, f, current, old)
			if _, err := o.Rewrap(t.Context()); err == nil {
				t.Fatal("the cut made no difference")
			}
			f.Revive()
			if _, err := o.Rewrap(t.Context()); err != nil {
				t.Error(err)
			}
			for i := range 3 {
				holds(t, objects(t, f, current), fmt.Sprint(i), "value")
			}
		}
	}
}

func TestKeysAreOf32BytesAndDoNotPrint(t *testing.T) {
	for _, n := range []int{0, 16, 31, 33, 64} {
		if k, err := secrets.NewKey(values.NewSecret(make([]byte, n))); !errors.Is(err, secrets.ErrInvalidKey) {
			t.Errorf("%d bytes: %v, %v", n, k, err)
		}
	}
	material := values.NewSecretString("0123456789abcdef0123456789ABCDEF")
	k, err := secrets.NewKey(material)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		text := fmt.Sprintf(format, k) + fmt.Sprintf(format, secrets.Keys{Primary: k})
		if strings.Contains(text, "0123456789") || strings.Contains(text, "30313233") {
			t.Errorf("%s prints the key", format)
		}
	}
	if _, err := secrets.NewObjects(storage.NewMemory(), secrets.Keys{}); !errors.Is(err, secrets.ErrInvalidKey) {
		t.Errorf("no primary key: %v", err)
	}
	if _, err := secrets.NewObjects(storage.NewMemory(), secrets.Keys{Primary: k, Old: make([]secrets.Key, 1)}); !errors.Is(err, secrets.ErrInvalidKey) {
		t.Errorf("an empty old key: %v", err)
	}
}
