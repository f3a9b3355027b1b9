package id

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestIDsIncreaseUnderAnyClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMilli(1_800_000_000_000)
		g := Generator{Now: func() time.Time { return now }}
		last := ""
		for range rapid.IntRange(1, 50).Draw(t, "ids") {
			now = now.Add(time.Duration(rapid.Int64Range(-5, 5).Draw(t, "ms")) * time.Millisecond)
			made := g.New(KindWorkload)
			if made.String() <= last {
				t.Fatalf("%s came after %s", made, last)
			}
			if _, err := Parse(made.String()); err != nil {
				t.Fatal(err)
			}
			last = made.String()
		}
	})
}

func TestIDsIncreaseOnceTheCounterIsUsedUp(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_000)
	g := Generator{Now: func() time.Time { return at }}
	last := ""
	var newest ID
	for range 3 * (counterMax + 1) {
		newest = g.New(KindWorkload)
		if newest.String() <= last {
			t.Fatalf("%s came after %s", newest, last)
		}
		last = newest.String()
	}
	if ahead := newest.Time().Sub(at); ahead <= 0 || ahead > 6*time.Millisecond {
		t.Errorf("12288 ids in one millisecond end %s ahead of the clock", ahead)
	}
}

func TestAnIDSaysWhenItWasMade(t *testing.T) {
	at := time.Date(2031, 2, 3, 4, 5, 6, 789_654_321, time.UTC)
	g := Generator{Now: func() time.Time { return at }}
	if got, want := g.New(KindRelease).Time(), at.Truncate(time.Millisecond); !got.Equal(want) {
		t.Errorf("made at %s, want %s", got, want)
	}
	g = Generator{Now: func() time.Time { return time.Unix(-1, 0) }}
	if got := g.New(KindRelease).Time(); got.UnixMilli() != 0 {
		t.Errorf("a clock before 1970 makes %s", got)
	}
}

func TestConcurrentIDsIncreaseForEachCallerAndAreUnique(t *testing.T) {
	const callers, each = 8, 500
	made := make([][]ID, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for range each {
				made[c] = append(made[c], New(KindWorkload))
			}
		})
	}
	wg.Wait()
	seen := map[ID]bool{}
	for _, ids := range made {
		last := ""
		for _, v := range ids {
			if v.String() <= last {
				t.Fatalf("%s came after %s", v, last)
			}
			if seen[v] {
				t.Fatalf("%s was given out twice", v)
			}
			seen[v], last = true, v.String()
		}
	}
}

func TestUUIDsIncreaseOverKinds(t *testing.T) {
	last := [16]byte{}
	for _, kind := range []string{KindWorkload, KindRelease, KindRollout, "aaa", "zzz"} {
		uuid := New(kind).UUID()
		if string(uuid[:]) <= string(last[:]) {
			t.Fatalf("%x came after %x", uuid, last)
		}
		last = uuid
	}
}

func TestABadKindPanics(t *testing.T) {
	for _, kind := range []string{"", "wk", "wklx", "WKL", "w1l"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%q) did not panic", kind)
				}
			}()
			New(kind)
		}()
		if _, err := FromUUID(kind, New(KindWorkload).UUID()); err == nil {
			t.Errorf("FromUUID took the kind %q", kind)
		}
	}
}
