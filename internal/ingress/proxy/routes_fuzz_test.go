package proxy

import (
	"strings"
	"testing"
)

// FuzzRouteMatch compares the match with a plain reading of its rule: split into
// segments, the prefix's segments must be the path's first ones, the most
// segments win.
func FuzzRouteMatch(f *testing.F) {
	f.Add("/api|/|/api/v2", "/api/v2/x")
	f.Add("/a", "/ab")
	f.Add("/", "*")
	f.Add("/a//b|/a", "/a//b/")
	f.Fuzz(func(t *testing.T, prefixes, path string) {
		s := &snapshot{hosts: map[string][]*route{}}
		for p := range strings.SplitSeq(prefixes, "|") {
			p = strings.TrimRight(p, "/")
			if p == "" {
				p = "/"
			}
			if !strings.HasPrefix(p, "/") {
				continue
			}
			s.hosts["h"] = append(s.hosts["h"], &route{path: p})
		}
		sortByPath(s.hosts)
		got := s.match("h", path)
		want, best := "", -1
		for _, r := range s.hosts["h"] {
			segs := strings.Split(r.path, "/")
			if r.path == "/" {
				segs = nil
			}
			have := strings.Split(path, "/")
			ok := len(have) >= len(segs)
			for i := 0; ok && i < len(segs); i++ {
				ok = segs[i] == have[i]
			}
			if ok && len(segs) > best {
				want, best = r.path, len(segs)
			}
		}
		switch {
		case got == nil && best >= 0:
			t.Fatalf("%q among %q: no route, want %q", path, prefixes, want)
		case got != nil && got.path != want:
			t.Fatalf("%q among %q: %q, want %q", path, prefixes, got.path, want)
		}
	})
}

func FuzzCanonicalHost(f *testing.F) {
	for _, s := range []string{"a.test", "A.test:80", "a.test.", "[::1]:80", "[", ":", "", "a.test.:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, h string) {
		got := canonicalHost(h)
		if got != strings.ToLower(got) {
			t.Fatalf("%q became %q, which is not lower case", h, got)
		}
		if !strings.HasPrefix(h, "[") {
			if strings.Contains(got, ":") {
				t.Fatalf("%q became %q, which has a port", h, got)
			}
			if again := canonicalHost(got); again != got && !strings.HasSuffix(got, ".") {
				t.Fatalf("%q became %q and then %q", h, got, again)
			}
		}
	})
}
