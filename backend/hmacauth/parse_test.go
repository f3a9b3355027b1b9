package hmacauth

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

func FuzzParse(f *testing.F) {
	good := Sign(strings.Repeat("k", MinSecretLength), "GET", "/", nil, time.Unix(1767225600, 0))
	for _, seed := range []string{good, "", " ", ",", "t=,sha256=", "t=1,sha256=zz", "sha256=,t=1", good + ",", " " + good, "t=-0,sha256=" + strings.Repeat("F", 64)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		s, err := parse(header)
		if err != nil {
			if errors.Is(err, ErrMissing) != (header == "") || errors.Is(err, ErrMalformed) == (header == "") {
				t.Fatalf("parse(%q) is %v", header, err)
			}
			return
		}
		first, second, _ := strings.Cut(header, ",")
		unix, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(first), "t="), 10, 64)
		if err != nil || unix != s.unix {
			t.Fatalf("parse(%q) has the time %d", header, s.unix)
		}
		if want := strings.TrimPrefix(strings.TrimSpace(second), "sha256="); !strings.EqualFold(want, hex.EncodeToString(s.sum[:])) {
			t.Fatalf("parse(%q) has the sum %x", header, s.sum)
		}
		if again, err := parse(s.String()); err != nil || again != s {
			t.Fatalf("parse(%q) is not what it was printed from: %v", s, err)
		}
	})
}
