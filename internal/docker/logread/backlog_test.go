package logread

import "testing"

func TestLastLinesAreWhole(t *testing.T) {
	for _, tc := range []struct {
		n    int
		want string
	}{{0, "a\nb\nc\n"}, {1, "c\n"}, {2, "b\nc\n"}, {9, "a\nb\nc\n"}} {
		if got := string(lastLines([]byte("a\nb\nc\n"), tc.n)); got != tc.want {
			t.Errorf("%d: got %q, want %q", tc.n, got, tc.want)
		}
	}
	if got := lastLines(nil, 3); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}
