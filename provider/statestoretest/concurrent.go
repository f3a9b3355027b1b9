package statestoretest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/berth-cloud/berth/provider"
)

const (
	workers = 4
	rounds  = 25
)

// together runs fn as often as there are workers, at once.
func together(fn func(worker int)) {
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { fn(w) })
	}
	wg.Wait()
}

// concurrentSwapsLoseNothing has every worker count one number up.
func concurrentSwapsLoseNothing(t *testing.T, s provider.StateStore) {
	put(t, s, "count", "0", "")
	together(func(int) {
		for range rounds {
			if err := increment(t, s); err != nil {
				t.Error(err)
				return
			}
		}
	})
	got, err := s.Get(t.Context(), "count")
	if err != nil {
		t.Fatal(err)
	}
	if want := strconv.Itoa(workers * rounds); string(got.Value) != want {
		t.Errorf("%s increments counted %s", want, got.Value)
	}
}

func increment(t *testing.T, s provider.StateStore) error {
	for {
		rec, err := s.Get(t.Context(), "count")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(rec.Value))
		if err != nil {
			return err
		}
		_, err = s.Put(t.Context(), "count", []byte(strconv.Itoa(n+1)), rec.Version)
		if !errors.Is(err, provider.ErrConflict) {
			return err
		}
	}
}

func concurrentCreatesHaveOneWinner(t *testing.T, s provider.StateStore) {
	for round := range rounds {
		key := fmt.Sprintf("round/%d", round)
		var won, lost [workers]bool
		together(func(w int) {
			_, err := s.Put(t.Context(), key, []byte(strconv.Itoa(w)), "")
			won[w], lost[w] = err == nil, errors.Is(err, provider.ErrConflict)
		})
		rec, err := s.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		winners := 0
		for w := range workers {
			if won[w] == lost[w] {
				t.Errorf("create of %s neither succeeded nor was a conflict", key)
			}
			if won[w] {
				winners++
				if string(rec.Value) != strconv.Itoa(w) {
					t.Errorf("%s was created by %d and holds %s", key, w, rec.Value)
				}
			}
		}
		if winners != 1 {
			t.Errorf("%s was created %d times", key, winners)
		}
	}
}

// readersSeeWholeValues writes values that betray a mixture, while others read
// and list.
func readersSeeWholeValues(t *testing.T, s provider.StateStore) {
	const size = 16 << 10
	version := put(t, s, "big/value", strings.Repeat("0", size), "")
	together(func(w int) {
		for round := range rounds {
			if w == 0 {
				next, err := s.Put(t.Context(), "big/value", []byte(strings.Repeat(strconv.Itoa(round%10), size)), version)
				if err != nil {
					t.Error(err)
					return
				}
				version = next
				continue
			}
			rec, err := s.Get(t.Context(), "big/value")
			if err != nil {
				t.Error(err)
				return
			}
			if text := string(rec.Value); text != strings.Repeat(text[:1], size) {
				t.Error("a reader saw a mixture of two values")
			}
			if keys, err := s.List(t.Context(), "big/"); err != nil || len(keys) != 1 {
				t.Errorf("a reader listed %q, %v", keys, err)
			}
		}
	})
}
