package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
)

var all = Policy{AllowLoopback: true, AllowPrivate: true}

func TestTargetsThatAreTaken(t *testing.T) {
	for _, text := range []string{
		"https://holder.example/callbacks/provision", "http://holder.example:8080/a?b=c%20d", "HTTPS://Holder.Example.", "http://1.1.1.1/", "http://[2606:4700::1111]:1/",
		"http://a_b.example/", "http://xn--bcher-kva.example/", "http://holder/", "http://1.holder.example/", "http://0xyz/", "http://localhost.example/", "http://holder.example:65535",
		"http://[::ffff:1.1.1.1]/",
	} {
		u, err := Policy{}.ParseTarget(text)
		if err != nil || u.String() == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"http://localhost:9000/", "http://a.localhost/", "http://127.0.0.1:9000/cb", "http://[::1]:9000/", "http://10.0.0.1/", "http://[fd12::1]/", "http://192.168.1.1./"} {
		if _, err := all.ParseTarget(text); err != nil {
			t.Errorf("%s, where it is allowed: %v", text, err)
		}
		if _, err := (Policy{}).ParseTarget(text); !errors.Is(err, ErrTarget) {
			t.Errorf("%s, where it is not allowed: %v", text, err)
		}
	}
}

func TestTargetsThatAreNeverTaken(t *testing.T) {
	const secret = "s3cret"
	for name, text := range map[string]string{
		"nothing":                       "",
		"no scheme":                     "holder.example/" + secret,
		"another scheme":                "ftp://holder.example/" + secret,
		"a file":                        "file:///etc/" + secret,
		"a socket":                      "unix:///run/" + secret,
		"no host":                       "http:///" + secret,
		"opaque":                        "http:" + secret,
		"a port alone":                  "http://:80/" + secret,
		"a user":                        "http://" + secret + "@holder.example/",
		"a user and a password":         "http://u:" + secret + "@holder.example/",
		"an empty user":                 "http://@holder.example/",
		"a fragment":                    "http://holder.example/#" + secret,
		"an empty fragment":             "http://holder.example/#",
		"port 0":                        "http://holder.example:0/",
		"port too large":                "http://holder.example:65536/",
		"no port after its colon":       "http://holder.example:/",
		"a named port":                  "http://holder.example:http/",
		"control characters":            "http://holder.example/\r\nX-A: " + secret,
		"a space in the host":           "http://holder example/",
		"an escaped host":               "http://holder%2eexample/",
		"a host that is not ASCII":      "http://bücher.example/",
		"digits that are not ASCII":     "http://１２７.0.0.1/",
		"an empty label":                "http://holder..example/",
		"a hyphen at an end":            "http://-holder.example/",
		"a dot":                         "http://./",
		"a long label":                  "http://" + strings.Repeat("a", 64) + ".example/",
		"a long host":                   "http://" + strings.Repeat("a.", 127) + "example/",
		"a long URL":                    "http://holder.example/" + strings.Repeat("a", MaxURLBytes),
		"metadata":                      "http://169.254.169.254/latest",
		"metadata with a dot":           "http://169.254.169.254./latest",
		"metadata, mapped":              "http://[::ffff:169.254.169.254]/",
		"metadata, NAT64":               "http://[64:ff9b::a9fe:a9fe]/",
		"metadata, 6to4":                "http://[2002:a9fe:a9fe::]/",
		"metadata, IPv6":                "http://[fd00:ec2::254]/",
		"link-local":                    "http://[fe80::1]/",
		"link-local with a zone":        "http://[fe80::1%25eth0]/",
		"a zone":                        "http://[::1%25lo]/",
		"unspecified":                   "http://0.0.0.0/",
		"unspecified, IPv6":             "http://[::]/",
		"multicast":                     "http://224.0.0.1/",
		"broadcast":                     "http://255.255.255.255/",
		"two parts":                     "http://127.1/",
		"one part":                      "http://2130706433/",
		"one part, hexadecimal":         "http://0x7f000001/",
		"one part, octal":               "http://017700000001/",
		"four parts, octal":             "http://0177.0.0.01/",
		"four parts, hexadecimal":       "http://0x7f.0.0.0x1/",
		"four parts, one too large":     "http://256.0.0.1/",
		"a prefix and nothing":          "http://0x/",
		"a name in brackets":            "http://[localhost]/",
		"a bracket that does not close": "http://[::1/",
	} {
		u, err := all.ParseTarget(text)
		if !errors.Is(err, ErrTarget) || !errors.Is(err, backend.ErrValidation) || u != nil {
			t.Errorf("%s: %v, %v", name, u, err)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error has the URL: %v", name, err)
		}
	}
}

func TestARefusalOfAnAddressIsOneOfBoth(t *testing.T) {
	_, err := Policy{}.ParseTarget("http://10.0.0.1/")
	if !errors.Is(err, ErrTarget) || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "10.0.0.1 is a private address") {
		t.Errorf("error %v", err)
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, text := range []string{
		"http://holder.example/a?b", "https://127.0.0.1:1", "http://[::1]:80/", "http://u@h/#f", "http://0x7f.1/", "http://[fe80::1%25a]/", "a:b", "http://%31/", "//h",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Policy{}.ParseTarget(text)
		if err != nil {
			if u != nil || !errors.Is(err, ErrTarget) {
				t.Fatalf("%q: %v, %v", text, u, err)
			}
			return
		}
		if u.User != nil || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q is taken as %v", text, u)
		}
		host := strings.TrimSuffix(u.Hostname(), ".")
		if addr, err := netip.ParseAddr(host); err == nil {
			if err := (Policy{}).Check(addr); err != nil {
				t.Fatalf("%q is taken, and %v", text, err)
			}
		} else if !isName(host) {
			t.Fatalf("%q is taken, and has the host %q", text, host)
		}
		again, err := Policy{}.ParseTarget(u.String())
		if len(u.String()) <= MaxURLBytes && (err != nil || again.Host != u.Host) {
			t.Fatalf("%q is taken as %q, which is taken as %v, %v", text, u, again, err)
		}
	})
}
