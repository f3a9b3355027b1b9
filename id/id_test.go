package id

import (
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// vectors are ids of which the UUID is known from elsewhere.
var vectors = []struct{ id, uuid, time string }{
	{"knc06bgm7733st2576nx5jht4ecjw", "01970a1ce31e74229cd5e9651d11cc97", "2025-05-26T01:02:34.782Z"},
	{"abc06awcb4f5hzmfey7qwt7s8a6q4", "0195c62c8f2c7f47bbc7bf347ca146b9", "2025-03-24T03:22:43.884Z"},
}

func uuidOf(t *testing.T, text string) (uuid [16]byte) {
	t.Helper()
	if _, err := hex.Decode(uuid[:], []byte(text)); err != nil {
		t.Fatal(err)
	}
	return uuid
}

func TestKnownIDsAndTheirUUIDs(t *testing.T) {
	for _, v := range vectors {
		parsed, err := Parse(v.id)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.UUID() != uuidOf(t, v.uuid) || parsed.Kind() != v.id[:3] || parsed.String() != v.id {
			t.Errorf("%s is %s %x", v.id, parsed.Kind(), parsed.UUID())
		}
		if got := parsed.Time().Format(time.RFC3339Nano); got != v.time {
			t.Errorf("%s was made at %s, want %s", v.id, got, v.time)
		}
		made, err := FromUUID(v.id[:3], uuidOf(t, v.uuid))
		if err != nil || made != parsed {
			t.Errorf("FromUUID(%s) = %v, %v, want %s", v.uuid, made, err, v.id)
		}
	}
}

func TestParseTakesOneSpellingOnly(t *testing.T) {
	good := vectors[0].id
	version4, variant := uuidOf(t, vectors[0].uuid), uuidOf(t, vectors[0].uuid)
	version4[6] = 0x40 | version4[6]&0xf
	variant[8] &= 0x3f
	bad := map[string]string{
		"nothing":              "",
		"upper case":           strings.ToUpper(good),
		"an upper-case kind":   "KNC" + good[3:],
		"a digit in the kind":  "k1c" + good[3:],
		"too short":            good[:len(good)-1],
		"too long":             good + "0",
		"a space before":       " " + good[:len(good)-1],
		"a hyphen":             good[:10] + "-" + good[11:],
		"i":                    good[:10] + "i" + good[11:],
		"l":                    good[:10] + "l" + good[11:],
		"o":                    good[:10] + "o" + good[11:],
		"u":                    good[:10] + "u" + good[11:],
		"another version":      "knc" + encode(version4),
		"another variant":      "knc" + encode(variant),
		"what is no ASCII":     good[:len(good)-2] + "ä",
		"the all-zero UUID":    "knc" + strings.Repeat("0", suffixLen),
		"bits in the padding":  good[:len(good)-1] + "x",
		"more in the padding":  good[:len(good)-1] + "y",
		"the last of them too": good[:len(good)-1] + "z",
	}
	for what, text := range bad {
		if v, err := Parse(text); !errors.Is(err, ErrInvalid) || v != Nil {
			t.Errorf("Parse of %s %q: %v, %v", what, text, v, err)
		}
	}
}

func TestAnErrorAboutALongTextIsShort(t *testing.T) {
	_, err := Parse(strings.Repeat("a", 1<<20))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestParseKind(t *testing.T) {
	if _, err := ParseKind(vectors[0].id, "knc"); err != nil {
		t.Error(err)
	}
	if _, err := ParseKind(vectors[0].id, KindWorkload); !errors.Is(err, ErrInvalid) {
		t.Errorf("an id of another kind: %v", err)
	}
}

func TestEncodingIsBase32WithoutPadding(t *testing.T) {
	reference := base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)
	rapid.Check(t, func(t *rapid.T) {
		var uuid [16]byte
		copy(uuid[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
		text := encode(uuid)
		if want := reference.EncodeToString(uuid[:]); text != want {
			t.Fatalf("encode(%x) = %s, want %s", uuid, text, want)
		}
		if back, err := decode(text); err != nil || back != uuid {
			t.Fatalf("decode(%s) = %x, %v, want %x", text, back, err, uuid)
		}
	})
}

func TestOrderOfIDsIsTheOrderOfUUIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) ID {
			return ID{text: "wkl" + encode(makeUUID(rapid.Int64Range(0, 1<<48-1).Draw(t, name), rapid.Uint16().Draw(t, "counter"), rapid.Uint64().Draw(t, "chance")))}
		}
		a, b := draw("a"), draw("b")
		ua, ub := a.UUID(), b.UUID()
		if (a.String() < b.String()) != (string(ua[:]) < string(ub[:])) {
			t.Fatalf("%s and %s sort otherwise than %x and %x", a, b, ua, ub)
		}
	})
}

func TestNilNamesNothing(t *testing.T) {
	if !Nil.IsNil() || !Nil.IsZero() || Nil.String() != "" || Nil.Kind() != "" || Nil.UUID() != [16]byte{} || !Nil.Time().IsZero() {
		t.Errorf("Nil is %q of kind %q, made at %s", Nil, Nil.Kind(), Nil.Time())
	}
	if v, err := Nil.WithKind(KindRelease); err != nil || v != Nil {
		t.Errorf("Nil of another kind is %v, %v", v, err)
	}
	if New(KindWorkload).IsNil() {
		t.Error("a new id is nil")
	}
}

func TestWithKindKeepsTheUUID(t *testing.T) {
	v := New(KindWorkload)
	w, err := v.WithKind(KindRelease)
	if err != nil || w.Kind() != KindRelease || w.UUID() != v.UUID() || w == v {
		t.Errorf("%s of another kind is %s, %v", v, w, err)
	}
	if _, err := v.WithKind("Rel"); !errors.Is(err, ErrInvalid) {
		t.Errorf("a bad kind: %v", err)
	}
}

func TestJSON(t *testing.T) {
	type holder struct {
		A ID         `json:"a"`
		B ID         `json:"b,omitzero"`
		M map[ID]int `json:"m,omitempty"`
	}
	v, err := Parse(vectors[0].id)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []holder{{}, {A: v}, {A: v, B: v, M: map[ID]int{v: 1}}} {
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		var back holder
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(back) != fmt.Sprint(h) {
			t.Errorf("%s became %v, was %v", text, back, h)
		}
	}
	if text, _ := json.Marshal(holder{}); string(text) != `{"a":""}` {
		t.Errorf("nil ids are %s", text)
	}
	back := holder{A: v}
	if err := json.Unmarshal([]byte(`{"a":"KNC"}`), &back); !errors.Is(err, ErrInvalid) || back.A != v {
		t.Errorf("a bad id: %v, and the field holds %v", err, back.A)
	}
	if err := json.Unmarshal([]byte(`{"a":""}`), &back); err != nil || !back.A.IsNil() {
		t.Errorf("an empty id: %v, and the field holds %v", err, back.A)
	}
}

func TestSQL(t *testing.T) {
	v := New(KindWorkload)
	stored, err := v.Value()
	if err != nil || stored != v.String() {
		t.Errorf("%s is stored as %v, %v", v, stored, err)
	}
	if stored, err := Nil.Value(); err != nil || stored != nil {
		t.Errorf("Nil is stored as %v, %v", stored, err)
	}
	for _, src := range []any{v.String(), []byte(v.String())} {
		var got ID
		if err := got.Scan(src); err != nil || got != v {
			t.Errorf("Scan(%v) = %v, %v", src, got, err)
		}
	}
	for _, src := range []any{nil, "", []byte{}} {
		got := v
		if err := got.Scan(src); err != nil || !got.IsNil() {
			t.Errorf("Scan(%v) = %v, %v", src, got, err)
		}
	}
	for _, src := range []any{7, "nonsense"} {
		if err := new(ID).Scan(src); !errors.Is(err, ErrInvalid) {
			t.Errorf("Scan(%v): %v", src, err)
		}
	}
}

func TestAppendText(t *testing.T) {
	v := New(KindWorkload)
	if got, err := v.AppendText([]byte("is ")); err != nil || string(got) != "is "+v.String() {
		t.Errorf("AppendText made %q, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.id)
		f.Add(strings.ToUpper(v.id))
		f.Add(v.id[:len(v.id)-1] + "z")
	}
	f.Add("")
	f.Add("wkl" + strings.Repeat("z", suffixLen))
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Parse(text)
		if err != nil {
			if v != Nil || !errors.Is(err, ErrInvalid) {
				t.Errorf("Parse(%q) = %v, %v", text, v, err)
			}
			return
		}
		if v.String() != text {
			t.Errorf("Parse(%q) prints as %q: two spellings of one id", text, v)
		}
		if w, err := FromUUID(v.Kind(), v.UUID()); err != nil || w != v {
			t.Errorf("%q made again is %v, %v", text, w, err)
		}
	})
}
