package probe

import (
	"errors"
	"strings"
	"testing"
)

func TestStatusRangesAreRead(t *testing.T) {
	for in, want := range map[string]string{
		"200":                              "200",
		"200-299":                          "200-299",
		" 301 , 200 - 299 ":                "200-299,301",
		"200-204,205,206-299":              "200-299",
		"400-499,200-450":                  "200-499",
		"204,204":                          "204",
		"599,200":                          "200,599",
		"200-200":                          "200",
		strings.Repeat("200,", 31) + "200": "200",
	} {
		got, err := ParseStatusRanges(in)
		if err != nil || got.String() != want {
			t.Errorf("%q: %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestBrokenStatusRangesAreRefused(t *testing.T) {
	for in, say := range map[string]string{
		"":                                 `""`,
		"200,":                             `""`,
		"199":                              `"199"`,
		"600":                              `"600"`,
		"0200":                             `"0200"`,
		"+20":                              `"+20"`,
		"2xx":                              `"2xx"`,
		"200-":                             `"200-"`,
		"200--299":                         `"200--299"`,
		"200-250-299":                      `"200-250-299"`,
		"299-200":                          `"299-200" ends before it begins`,
		"２００":                              `is not a status`,
		strings.Repeat("200,", 32) + "200": "33 entries are more than 32",
		strings.Repeat("9", 5000):          "…",
	} {
		got, err := ParseStatusRanges(in)
		if !errors.Is(err, ErrStatusRange) || !strings.Contains(err.Error(), say) {
			t.Errorf("%.20q: %s, %v; want an error that says %s", in, got, err, say)
		}
		if err != nil && len(err.Error()) > 250 {
			t.Errorf("%.20q: the message has %d bytes", in, len(err.Error()))
		}
	}
}

func TestNoRangesStandForSuccess(t *testing.T) {
	var none Ranges
	for status, want := range map[int]bool{199: false, 200: true, 299: true, 300: false, 0: false} {
		if none.Has(status) != want {
			t.Errorf("status %d passes: %t", status, !want)
		}
	}
	if none.String() != "200-299" {
		t.Errorf("they are written %s", none)
	}
}

func FuzzStatusRangesStayWhatTheySay(f *testing.F) {
	for _, s := range []string{"200-299,304", "200", "599,200-201", "", "a", "200-", " 200\t-201 ,500"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rs, err := ParseStatusRanges(s)
		if err != nil {
			if rs != nil || !errors.Is(err, ErrStatusRange) {
				t.Fatalf("%v with %v", rs, err)
			}
			return
		}
		for i, r := range rs {
			if r.From > r.To || r.From < minStatus || r.To > maxStatus || i > 0 && r.From <= rs[i-1].To+1 {
				t.Fatalf("%q became %v", s, rs)
			}
		}
		again, err := ParseStatusRanges(rs.String())
		if err != nil || again.String() != rs.String() {
			t.Fatalf("%q is written %s and read %s, %v", s, rs, again, err)
		}
		for status := 0; status < 700; status++ {
			if rs.Has(status) != again.Has(status) {
				t.Fatalf("%q and %s differ about %d", s, rs, status)
			}
		}
	})
}
