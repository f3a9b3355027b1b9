package storagetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/berth-cloud/berth/instances/storage"
)

func (e *env) refused(what string, err error) {
	e.Helper()
	if !errors.Is(err, storage.ErrPrecondition) || errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrUnavailable) {
		e.Errorf("%s: %v; want a failed precondition", what, err)
	}
}

func emptyTag(e *env) {
	tag, err := e.s.PutIfMatch(e.ctx, "a/k", []byte("first"), "")
	if err != nil || tag == "" {
		e.Fatalf("tag %q, %v", tag, err)
	}
	got, err := e.s.PutIfMatch(e.ctx, "a/k", []byte("second"), "")
	e.refused("a second creation", err)
	if got != "" {
		e.Errorf("a refusal has tag %q", got)
	}
	_, err = e.s.PutIfMatch(e.ctx, "a/k", []byte("first"), "")
	e.refused("the same creation again", err)
	if now := e.holds("a/k", "first"); now != tag {
		e.Errorf("tag %q became %q", tag, now)
	}
	if err := e.s.Delete(e.ctx, "a/k"); err != nil {
		e.Fatal(err)
	}
	if _, err := e.s.PutIfMatch(e.ctx, "a/k", []byte("third"), ""); err != nil {
		e.Errorf("a creation after a deletion: %v", err)
	}
	e.holds("a/k", "third")
}

func oldTag(e *env) {
	first := e.put("k", "first")
	second, err := e.s.PutIfMatch(e.ctx, "k", []byte("second"), first)
	if err != nil || second == first {
		e.Fatalf("tag %q, %v", second, err)
	}
	for _, tag := range []string{first, "no tag at all", "*", second + second} {
		_, err = e.s.PutIfMatch(e.ctx, "k", []byte("third"), tag)
		e.refused(fmt.Sprintf("tag %q", tag), err)
	}
	if now := e.holds("k", "second"); now != second {
		e.Errorf("tag %q became %q", second, now)
	}
	if _, err := e.s.PutIfMatch(e.ctx, "k", []byte("third"), second); err != nil {
		e.Error(err)
	}
	e.holds("k", "third")
}

func tagOfNothing(e *env) {
	tag := e.put("k", "value")
	_, err := e.s.PutIfMatch(e.ctx, "other", []byte("value"), tag)
	e.refused("a tag of another object", err)
	e.gone("other")
	if err := e.s.Delete(e.ctx, "k"); err != nil {
		e.Fatal(err)
	}
	_, err = e.s.PutIfMatch(e.ctx, "k", []byte("value"), tag)
	e.refused("a tag of a deleted object", err)
	e.gone("k")
}

func deleteIfMatch(e *env) {
	first := e.put("k", "first")
	second := e.put("k", "second")
	for _, tag := range []string{first, "", "no tag at all", "*"} {
		e.refused(fmt.Sprintf("delete with tag %q", tag), e.s.DeleteIfMatch(e.ctx, "k", tag))
	}
	e.holds("k", "second")
	if err := e.s.DeleteIfMatch(e.ctx, "k", second); err != nil {
		e.Error(err)
	}
	e.gone("k")
	if err := e.s.DeleteIfMatch(e.ctx, "k", second); err != nil {
		e.Errorf("a deletion that is made again: %v", err)
	}
}

// race runs n functions at once.
func race(n int, fn func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	all.Wait()
}

func oneCreator(e *env) {
	for round := range 5 {
		e.oneWins(fmt.Sprint("race/create-", round), "")
	}
}

func oneWriter(e *env) {
	for round := range 5 {
		key := fmt.Sprint("race/write-", round)
		e.oneWins(key, e.put(key, "before"))
	}
}

func (e *env) oneWins(key, tag string) {
	var won atomic.Int64
	var winner atomic.Value
	race(16, func(i int) {
		data := fmt.Sprint("of writer ", i)
		_, err := e.s.PutIfMatch(e.ctx, key, []byte(data), tag)
		if err == nil {
			won.Add(1)
			winner.Store(data)
			return
		}
		e.refused("a writer who lost", err)
	})
	if won.Load() != 1 {
		e.Fatalf("%s: %d writers won", key, won.Load())
	}
	e.holds(key, winner.Load().(string))
}

func counter(e *env) {
	const writers, each = 4, 8
	e.put("n", "0")
	race(writers, func(int) {
		for range each {
			e.increment("n")
		}
	})
	e.holds("n", strconv.Itoa(writers*each))
}

func (e *env) increment(key string) {
	for {
		data, tag, err := e.s.Get(e.ctx, key)
		if err != nil {
			e.Error(err)
			return
		}
		n, err := strconv.Atoi(string(data))
		if err != nil {
			e.Error(err)
			return
		}
		_, err = e.s.PutIfMatch(e.ctx, key, []byte(strconv.Itoa(n+1)), tag)
		if err == nil {
			return
		}
		if e.refused("an increment", err); e.Failed() {
			return
		}
	}
}

func deleteAgainstWrite(e *env) {
	for round := range 8 {
		key := fmt.Sprint("race/delete-", round)
		tag := e.put(key, "before")
		var wrote, removed atomic.Bool
		race(2, func(i int) {
			var err error
			if i == 0 {
				_, err = e.s.PutIfMatch(e.ctx, key, []byte("after"), tag)
				wrote.Store(err == nil)
			} else {
				err = e.s.DeleteIfMatch(e.ctx, key, tag)
				removed.Store(err == nil)
			}
			if err != nil {
				e.refused("who lost", err)
			}
		})
		if wrote.Load() == removed.Load() {
			e.Fatalf("written %v, removed %v", wrote.Load(), removed.Load())
		}
		if wrote.Load() {
			e.holds(key, "after")
		} else {
			e.gone(key)
		}
	}
}
