package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func validCluster() Cluster {
	return Cluster{
		Protocol: Protocol, Version: 1, Listen: "0.0.0.0:7443", Certificate: "c", Key: NewPrivateKey("canary-key"), Roots: "r",
		Denied: []string{"0123456789abcdef"},
	}
}

func TestAWrongClusterIsRefusedWithWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Cluster)
		is     error
		says   string
	}{
		"another protocol":     {func(c *Cluster) { c.Protocol = 99 }, ErrProtocol, "99"},
		"no version":           {func(c *Cluster) { c.Version = 0 }, ErrInvalid, "version"},
		"no port":              {func(c *Cluster) { c.Listen = "10.0.0.1" }, ErrInvalid, "host:port"},
		"a name":               {func(c *Cluster) { c.Listen = "berth.test:7443" }, ErrInvalid, "IP address"},
		"a port by name":       {func(c *Cluster) { c.Listen = ":https" }, ErrInvalid, "port"},
		"no certificate":       {func(c *Cluster) { c.Certificate = "" }, ErrInvalid, "certificate"},
		"no key":               {func(c *Cluster) { c.Key = PrivateKey{} }, ErrInvalid, "key"},
		"no authority":         {func(c *Cluster) { c.Roots = "" }, ErrInvalid, "roots"},
		"a long one":           {func(c *Cluster) { c.Roots = strings.Repeat("x", MaxPEM+1) }, ErrInvalid, "roots"},
		"a serial of a path":   {func(c *Cluster) { c.Denied = []string{"../a"} }, ErrInvalid, "../a"},
		"a serial in capitals": {func(c *Cluster) { c.Denied = []string{"AB"} }, ErrInvalid, "AB"},
		"an empty serial":      {func(c *Cluster) { c.Denied = []string{""} }, ErrInvalid, "serial"},
		"too many serials":     {func(c *Cluster) { c.Denied = make([]string, MaxDenied+1) }, ErrInvalid, "at most"},
	} {
		cl := validCluster()
		c.change(&cl)
		err := cl.Validate()
		if !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.says) || strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%s: %v, want %v that says %s", name, err, c.is, c.says)
		}
	}
	for _, cl := range []Cluster{validCluster(), {Protocol: Protocol, Version: 1}} {
		if err := cl.Validate(); err != nil {
			t.Errorf("a valid cluster: %v", err)
		}
	}
}

func TestAClustersKeyIsWrittenForTheWireAndNowhereElse(t *testing.T) {
	c := validCluster()
	data, err := EncodeCluster(c)
	if err != nil || !strings.Contains(string(data), "canary-key") {
		t.Errorf("the wire has %s, %v", data, err)
	}
	got, err := DecodeCluster(data)
	if err != nil || !got.Same(&c) || got.Version != c.Version {
		t.Errorf("it comes back as %+v, %v", got, err)
	}
	plain, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := c.Key.MarshalText()
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "cluster", c, "key", c.Key)
	for how, out := range map[string]string{
		"%v": fmt.Sprint(c), "%+v": fmt.Sprintf("%+v", c), "%#v": fmt.Sprintf("%#v", c), "%x": fmt.Sprintf("%x", c.Key), "%s": c.Key.String(),
		"JSON": string(plain), "text": string(text), "slog": logged.String(),
	} {
		if strings.Contains(out, "canary") || strings.Contains(out, fmt.Sprintf("%x", "canary")) {
			t.Errorf("%s shows the key: %s", how, out)
		}
	}
	if _, err := DecodeCluster([]byte(`{"protocol":2,"key":"canary-key"}`)); !errors.Is(err, ErrProtocol) || strings.Contains(err.Error(), "canary") {
		t.Errorf("another protocol: %v", err)
	}
	for _, bad := range []string{`[]`, `{"protocol":1,"version":"canary"}`, `{"protocol":1,"key":["canary"]}`} {
		if _, err := DecodeCluster([]byte(bad)); !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestClustersDifferByAnyPart(t *testing.T) {
	for name, change := range map[string]func(*Cluster){
		"listen":      func(c *Cluster) { c.Listen = ":1" },
		"certificate": func(c *Cluster) { c.Certificate = "d" },
		"key":         func(c *Cluster) { c.Key = NewPrivateKey("other") },
		"roots":       func(c *Cluster) { c.Roots = "s" },
		"denied":      func(c *Cluster) { c.Denied = []string{"0123456789abcdee"} },
		"more denied": func(c *Cluster) { c.Denied = append(c.Denied, "1") },
	} {
		a, b := validCluster(), validCluster()
		change(&b)
		if a.Same(&b) {
			t.Errorf("%s: they count as the same", name)
		}
	}
}

func TestANodesIDIsOneWord(t *testing.T) {
	for id, want := range map[string]bool{
		"vmx06bgm7733st2576nx5jht4ecjw": true, "a": true, "a-b": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, "a-": false, "A": false, "a/b": false, "a b": false, "..": false, strings.Repeat("a", 65): false,
	} {
		if ValidNode(id) != want {
			t.Errorf("%q: %t", id, !want)
		}
	}
	tb := valid()
	tb.Routes[0].Targets[0].Node = "../x"
	if err := tb.Validate(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "../x") {
		t.Errorf("a table with such a node: %v", err)
	}
}
