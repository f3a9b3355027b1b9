package spec

import (
	"strings"
	"testing"
)

const someDigest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func TestImagesAreCompleted(t *testing.T) {
	for text, want := range map[string]string{
		"nginx":                              "docker.io/library/nginx:latest",
		"nginx:1.27":                         "docker.io/library/nginx:1.27",
		"shop/web":                           "docker.io/shop/web:latest",
		"ghcr.io/shop/web:1.4":               "ghcr.io/shop/web:1.4",
		"localhost/web":                      "localhost/web:latest",
		"localhost:5000/web:1":               "localhost:5000/web:1",
		"127.0.0.1:5000/a/b/c":               "127.0.0.1:5000/a/b/c:latest",
		"[2001:db8::1]:5000/web":             "[2001:db8::1]:5000/web:latest",
		"nginx@" + someDigest:                "docker.io/library/nginx@" + someDigest,
		"ghcr.io/shop/web:1.4@" + someDigest: "ghcr.io/shop/web:1.4@" + someDigest,
	} {
		got, err := ParseImage(text)
		if err != nil || got.String() != want {
			t.Errorf("ParseImage(%q) = %s, %v; want %s", text, got, err, want)
			continue
		}
		if again, err := ParseImage(got.String()); err != nil || again != got {
			t.Errorf("%s is read back as %v, %v", got, again, err)
		}
		if got.Pinned() != strings.Contains(text, "@") {
			t.Errorf("ParseImage(%q).Pinned() = %v", text, got.Pinned())
		}
	}
}

func TestWhatIsNoImageIsRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", "nginx ", "Nginx", "ghcr.io/Shop/web", "https://ghcr.io/shop/web", "docker://nginx", "nginx:", "nginx@", "nginx@sha256:abc",
		"nginx@md5:9f86d081884c7d659a2feaa0c55ad015", someDigest, strings.TrimPrefix(someDigest, "sha256:"), "-nginx", "nginx:tag:tag", "a//b", "../x",
		"nginx\n", strings.Repeat("a", 300), strings.Repeat("a", 600), "nginx:" + strings.Repeat("t", 129),
	} {
		if got, err := ParseImage(text); err == nil {
			t.Errorf("ParseImage(%q) = %s, want an error", text, got)
		}
	}
}
