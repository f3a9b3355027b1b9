package yamlfile

import (
	"strings"
	"testing"
)

func TestTheNearestKeyIsNamedOnlyWhenItIsNear(t *testing.T) {
	keys := []string{"image", "command", "env", "port", "domains", "replicas", "strategy", "stop_grace", "keep_previous"}
	for word, want := range map[string]string{
		"imgae": "image", "img": "", "Image": "image", "stopGrace": "stop_grace", "stop-grace": "stop_grace",
		"keepPrevious": "keep_previous", "prot": "port", "ports": "port", "envs": "env", "replica": "replicas",
		"colour": "", "x": "", "": "", "domain": "domains", "STRATEGY": "strategy", strings.Repeat("port", 1000): "",
	} {
		if got := Nearest(word, keys); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistanceCountsSlips(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"port", "prot", 1}, {"port", "part", 1}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
