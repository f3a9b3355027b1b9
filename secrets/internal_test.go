package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
)

func testMaster(t testing.TB) *master {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMaster(id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOwnerIsUs(t *testing.T) {
	if ownedBy(0, 0) != nil || ownedBy(1000, 1000) != nil || ownedBy(0, 1000) == nil || ownedBy(1000, 0) == nil {
		t.Error("a file that is another user's passes, or one of ours does not")
	}
}

func TestMasterDoesNotPrint(t *testing.T) {
	m := testMaster(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if out := fmt.Sprintf(verb, m); out != m.recipient {
			t.Errorf("%s: %s", verb, out)
		}
	}
}

// Who knows the recipient can encrypt to it, but not vouch for what he wraps.
func TestDataKeyOfAStrangerIsTampering(t *testing.T) {
	ours, stranger := testMaster(t), testMaster(t)
	forged := &master{identity: ours.identity, recipient: ours.recipient, macKey: stranger.macKey}
	key := bytes.Repeat([]byte{7}, dataKeyBytes)
	row, err := wrap("acme", key, forged)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unwrap("acme", row, ours); !errors.Is(err, ErrTampered) {
		t.Errorf("a forged data key: %v", err)
	}
	row, err = wrap("acme", key, ours, stranger)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*master{ours, stranger} {
		if got, err := unwrap("acme", row, m); err != nil || !bytes.Equal(got, key) {
			t.Errorf("a key of two masters does not open with one: %v", err)
		}
		if _, err := unwrap("bolt", row, m); !errors.Is(err, ErrTampered) {
			t.Errorf("another tenant's data key: %v", err)
		}
	}
}

func TestPlacesDoNotRunTogether(t *testing.T) {
	seen := map[string]Ref{}
	for _, ref := range []Ref{{"a", "bc"}, {"ab", "c"}, {"abc", ""}, {"", "abc"}, {"a", "b/c"}, {"a/b", "c"}} {
		p := string(place(ref, 1))
		if other, twice := seen[p]; twice {
			t.Errorf("%v and %v are one place", ref, other)
		}
		seen[p] = ref
	}
	if bytes.Equal(place(Ref{"a", "b"}, 1), place(Ref{"a", "b"}, 256)) {
		t.Error("two versions are one place")
	}
}

// spliced is text with a part replaced; a large drop replaces all from at on.
func spliced(text []byte, at, drop uint16, with []byte) []byte {
	from := min(int(at), len(text))
	to := min(from+int(drop), len(text))
	return slices.Concat(text[:from], with, text[to:])
}

func FuzzUnseal(f *testing.F) {
	key := bytes.Repeat([]byte{7}, dataKeyBytes)
	ref := Ref{"acme", "k"}
	good, err := seal(key, ref, 3, []byte("value"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), uint16(0), []byte{})
	f.Add(uint16(0), uint16(999), []byte{})
	f.Add(uint16(0), uint16(999), []byte{sealFormat})
	f.Add(uint16(0), uint16(1), []byte{2})
	f.Add(uint16(14), uint16(1), []byte("x"))
	f.Add(uint16(len(good)-1), uint16(1), []byte{})
	f.Add(uint16(len(good)), uint16(0), []byte{0})
	f.Fuzz(func(t *testing.T, at, drop uint16, with []byte) {
		sealed := spliced(good, at, drop, with)
		s, err := unseal(key, ref, 3, sealed)
		if bytes.Equal(sealed, good) {
			if err != nil || s.RevealString() != "value" {
				t.Fatalf("what was sealed does not open: %v", err)
			}
		} else if !errors.Is(err, ErrTampered) || !s.IsZero() {
			t.Fatalf("%x opens: %v", sealed, err)
		}
	})
}

func FuzzUnwrap(f *testing.F) {
	m := testMaster(f)
	key := bytes.Repeat([]byte{7}, dataKeyBytes)
	good, err := wrap("acme", key, m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), uint16(0), []byte{})
	for _, whole := range []string{"", "{}", "null", `{"format":1,"for":[{"recipient":"age1x","mac":"AA=="}],"age":"AA=="}`} {
		f.Add(uint16(0), uint16(len(good)), []byte(whole))
	}
	for _, place := range []string{`"format":`, `"recipient":"`, `"mac":"`, `"age":"`} {
		i := uint16(bytes.Index(good, []byte(place)) + len(place))
		f.Add(i, uint16(4), []byte("AAAA"))
		f.Add(i, uint16(8), []byte{})
	}
	f.Fuzz(func(t *testing.T, at, drop uint16, with []byte) {
		row := spliced(good, at, drop, with)
		got, err := unwrap("acme", row, m)
		if err == nil && !bytes.Equal(got, key) {
			t.Fatalf("%q gives another key", row)
		}
		if err != nil && !errors.Is(err, ErrTampered) && !errors.Is(err, ErrSealed) {
			t.Fatalf("%q: %v", row, err)
		}
		if err != nil && len(err.Error()) > 2000 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
	})
}

func FuzzParseKey(f *testing.F) {
	id := testMaster(f).identity.String()
	for _, s := range []string{"", "#", id, "# c\n" + id + "\n", id + "\n" + id, strings.ToLower(id), "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1AAAA", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseKey(text)
		if (m == nil) != (err != nil) {
			t.Fatalf("%q: %v, %v", text, m, err)
		}
		if m != nil && !bytes.Contains(bytes.ToUpper(text), []byte(m.identity.String())) {
			t.Fatalf("%q gave a key it does not hold", text)
		}
		if err != nil {
			for word := range bytes.FieldsSeq(text) {
				if len(word) > 20 && strings.Contains(err.Error(), string(word)) {
					t.Fatalf("the error repeats the file: %v", err)
				}
			}
		}
	})
}
