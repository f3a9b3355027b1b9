package backendd

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-cloud/berth/internal/node"
)

func TestResolversThatLeasesCannotAskAreNamed(t *testing.T) {
	rules := node.Rules{Allow: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16")}, Resolvers: []netip.Addr{netip.MustParseAddr("192.168.1.1")}}
	for name, c := range map[string]struct{ first, second, want string }{
		"public":                {"nameserver 1.1.1.1\n", "", "[]"},
		"private":               {"search lan\nnameserver 10.0.0.2\nnameserver fd00::2\n", "", "[10.0.0.2 fd00::2]"},
		"allowed":               {"nameserver 10.20.0.2\nnameserver 192.168.1.1\n", "", "[]"},
		"metadata":              {"nameserver 169.254.169.254", "", "[169.254.169.254]"},
		"behind one of its own": {"nameserver 127.0.0.53\n", "nameserver 10.0.0.2\n", "[10.0.0.2]"},
		"one of its own":        {"nameserver 127.0.0.1\n", "", "[]"},
		"with a zone":           {"nameserver fe80::1%eth0\n", "", "[fe80::1]"},
		"nonsense":              {"nameserver\nnameserver x\n", "", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := []string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}
			for i, text := range []string{c.first, c.second} {
				if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := fmt.Sprint(unreachable(files, rules)); got != c.want {
				t.Errorf("%s; want %s", got, c.want)
			}
		})
	}
}
