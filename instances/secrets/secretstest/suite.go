package secretstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/secrets"
	values "github.com/berth-cloud/berth/secrets"
)

// patience bounds each test of the suite.
const patience = time.Minute

// Conforms runs every test of the suite, each on an empty Store that open makes
// and ends with its test.
func Conforms(t *testing.T, open func(t testing.TB) secrets.Store) {
	for _, tc := range []struct {
		name string
		run  func(*env)
	}{
		{"WhatIsSetIsRead", setIsRead},
		{"AnyBytesAreAValue", anyBytes},
		{"NamesAreApart", namesApart},
		{"DeletedIsNotFound", deleted},
		{"WhatExistsIsKept", existing},
		{"OfManySettersOneKeepsItsValue", oneSetter},
		{"LargeValuesAreBounded", large},
		{"BadNamesAreRefused", badNames},
		{"EndedContextIsRefused", endedContext},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			tc.run(&env{T: t, ctx: ctx, s: open(t)})
		})
	}
}

type env struct {
	*testing.T
	ctx context.Context
	s   secrets.Store
}

func (e *env) set(name, value string) {
	e.Helper()
	if err := e.s.Set(e.ctx, name, values.NewSecretString(value)); err != nil {
		e.Fatal(err)
	}
}

func (e *env) holds(name, value string) {
	e.Helper()
	if got, err := e.s.Get(e.ctx, name); err != nil || got.RevealString() != value {
		e.Errorf("%s: %.40q, %v; want %.40q", name, got.RevealString(), err, value)
	}
}

func (e *env) gone(name string) {
	e.Helper()
	if got, err := e.s.Get(e.ctx, name); !errors.Is(err, secrets.ErrNotFound) || !got.IsZero() {
		e.Errorf("%s: %d bytes, %v; want not found", name, got.Len(), err)
	}
}

func setIsRead(e *env) {
	e.gone("ca.key")
	e.set("ca.key", "first")
	e.holds("ca.key", "first")
	e.set("ca.key", "second")
	e.holds("ca.key", "second")
	e.set("ca.key", "first")
	e.holds("ca.key", "first")
}

func anyBytes(e *env) {
	var all bytes.Buffer
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	for i, value := range []string{"", "\x00", "two\nlines\r\n", all.String(), strings.Repeat("x", 100_000)} {
		name := fmt.Sprint("any/", i)
		e.set(name, value)
		e.holds(name, value)
	}
}

func namesApart(e *env) {
	names := []string{"a", "A", "a.key", "b/a", "b/a.key", "a-b", "registration-nonce.key"}
	for _, n := range names {
		e.set(n, "of "+n)
	}
	for _, n := range names {
		e.holds(n, "of "+n)
	}
}

func deleted(e *env) {
	if err := e.s.Delete(e.ctx, "k"); err != nil {
		e.Errorf("delete of nothing: %v", err)
	}
	e.set("k", "value")
	e.set("other", "value")
	if err := e.s.Delete(e.ctx, "k"); err != nil {
		e.Fatal(err)
	}
	e.gone("k")
	e.holds("other", "value")
	if err := e.s.SetIfAbsent(e.ctx, "k", values.NewSecretString("again")); err != nil {
		e.Error(err)
	}
	e.holds("k", "again")
}

func existing(e *env) {
	if err := e.s.SetIfAbsent(e.ctx, "k", values.NewSecretString("first")); err != nil {
		e.Fatal(err)
	}
	for _, value := range []string{"second", "first", ""} {
		if err := e.s.SetIfAbsent(e.ctx, "k", values.NewSecretString(value)); !errors.Is(err, secrets.ErrExists) {
			e.Errorf("%q: %v", value, err)
		}
	}
	e.holds("k", "first")
}

func oneSetter(e *env) {
	for round := range 4 {
		name := fmt.Sprint("k", round)
		var won atomic.Int64
		var winner atomic.Value
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range 8 {
			all.Go(func() {
				<-start
				value := fmt.Sprint("of ", i)
				err := e.s.SetIfAbsent(e.ctx, name, values.NewSecretString(value))
				if err == nil {
					won.Add(1)
					winner.Store(value)
				} else if !errors.Is(err, secrets.ErrExists) {
					e.Error(err)
				}
			})
		}
		close(start)
		all.Wait()
		if won.Load() != 1 {
			e.Fatalf("%d setters won", won.Load())
		}
		e.holds(name, winner.Load().(string))
	}
}

func large(e *env) {
	value := strings.Repeat("x", secrets.MaxValueBytes)
	e.set("k", value)
	e.holds("k", value)
	tooLarge := values.NewSecretString(value + "x")
	if err := e.s.Set(e.ctx, "k", tooLarge); !errors.Is(err, secrets.ErrTooLarge) {
		e.Errorf("set: %v", err)
	}
	if err := e.s.SetIfAbsent(e.ctx, "other", tooLarge); !errors.Is(err, secrets.ErrTooLarge) {
		e.Errorf("set if absent: %v", err)
	}
	e.holds("k", value)
	e.gone("other")
}

// operations are all of them, with a value that no error may tell.
func (e *env) operations(ctx context.Context, name string) map[string]error {
	value := values.NewSecretString("not-to-be-told")
	_, getErr := e.s.Get(ctx, name)
	return map[string]error{
		"get":           getErr,
		"set":           e.s.Set(ctx, name, value),
		"set if absent": e.s.SetIfAbsent(ctx, name, value),
		"delete":        e.s.Delete(ctx, name),
	}
}

func badNames(e *env) {
	for _, name := range []string{"", "/a", "a/", "../a", "a/../b", ".hidden", "a b", "a\x00", `a\b`, "ä", strings.Repeat("a", secrets.MaxNameBytes+1)} {
		for op, err := range e.operations(e.ctx, name) {
			if !errors.Is(err, secrets.ErrInvalidName) {
				e.Errorf("%s %.40q: %v", op, name, err)
			}
		}
	}
}

func endedContext(e *env) {
	e.set("k", "value")
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	for op, err := range e.operations(ctx, "k") {
		if !errors.Is(err, context.Canceled) || errors.Is(err, secrets.ErrNotFound) || strings.Contains(err.Error(), "not-to-be-told") {
			e.Errorf("%s: %v", op, err)
		}
	}
	e.holds("k", "value")
}
