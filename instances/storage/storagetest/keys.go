package storagetest

import (
	"errors"
	"strings"

	"github.com/berth-cloud/berth/instances/storage"
)

func badKeys(e *env) {
	e.put("a/k", "value")
	for _, key := range []string{
		"", "/", "/a", "a/", "a//k", ".", "..", "../k", "a/..", "a/../a/k", "./a/k", "a/./k", "a/.hidden", ".berth/lock",
		`a\k`, "a\x00k", "a k", "a\nk", "a%2fk", "a?k", "a*", "ä", "a/k\xff", "~/k", "c:\\k", "a+k", "a&k", "a=k",
		strings.Repeat("a", storage.MaxPartBytes+1), strings.Repeat("a/", storage.MaxKeyBytes/2) + "a",
	} {
		for name, call := range map[string]func() error{
			"get":             func() error { _, _, err := e.s.Get(e.ctx, key); return err },
			"put":             func() error { _, err := e.s.Put(e.ctx, key, nil); return err },
			"put if match":    func() error { _, err := e.s.PutIfMatch(e.ctx, key, nil, ""); return err },
			"delete":          func() error { return e.s.Delete(e.ctx, key) },
			"delete if match": func() error { return e.s.DeleteIfMatch(e.ctx, key, "tag") },
			"exists":          func() error { _, err := e.s.Exists(e.ctx, key); return err },
			"metadata":        func() error { _, err := e.s.GetMetadata(e.ctx, key); return err },
			"get stream":      func() error { _, _, err := e.s.GetStream(e.ctx, key); return err },
			"put stream":      func() error { _, err := e.s.PutStream(e.ctx, key, strings.NewReader(""), 0); return err },
		} {
			if err := call(); !errors.Is(err, storage.ErrInvalidKey) {
				e.Errorf("%s %.40q: %v", name, key, err)
			}
		}
	}
	e.lists("", "a/k")
}

func keysApart(e *env) {
	keys := []string{
		"k", "K", "k.json", "k-a", "k_a", "k:a", "k@a", "k..a", "k.", "-k", "_k", ":", "a/b/c/d/e/f",
		strings.Repeat("a", 200), "b/" + strings.Repeat("a/", 100) + "z",
	}
	for _, k := range keys {
		e.put(k, "of "+k)
	}
	for _, k := range keys {
		e.holds(k, "of "+k)
	}
	if err := e.s.Delete(e.ctx, "k"); err != nil {
		e.Fatal(err)
	}
	e.gone("k")
	for _, k := range keys[1:] {
		e.holds(k, "of "+k)
	}
}

func badPrefixes(e *env) {
	e.put("a/k", "value")
	for _, prefix := range []string{"/", "/a", "..", "../", "a/..", "a//", "a/.", ".", ".berth", `a\`, "a b", "a\x00", strings.Repeat("a/", storage.MaxKeyBytes)} {
		if all, err := e.s.List(e.ctx, prefix); !errors.Is(err, storage.ErrInvalidKey) {
			e.Errorf("list %.40q: %v, %v", prefix, all, err)
		}
	}
}

func folders(e *env) {
	e.put("a/b/c", "1")
	e.put("a/b/d", "2")
	for _, key := range []string{"a/b/c", "a/b/d"} {
		if err := e.s.Delete(e.ctx, key); err != nil {
			e.Fatal(err)
		}
	}
	e.lists("")
	for _, key := range []string{"a/b", "a"} {
		e.put(key, "an object now")
		e.holds(key, "an object now")
		if err := e.s.Delete(e.ctx, key); err != nil {
			e.Fatal(err)
		}
	}
	e.put("a/b/c", "again")
	e.holds("a/b/c", "again")
}
