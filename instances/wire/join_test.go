package wire_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/instances/wire"
)

func someJoinToken() wire.JoinToken {
	return wire.JoinToken{
		ClusterID: "prod", Shard: "one", InstanceID: "hst06bgm7733st2576nx5jht4ecjw",
		RegistrationAddr: "10.0.0.5:8992", AgentAddr: "berth.example.com:8994", IngressAddr: "[fd00::1]:8995",
		Authorities: []wire.Fingerprint{{1, 2, 3}, {4}}, Token: "eyJh." + claims("hst06bgm7733st2576nx5jht4ecjw", "prod", "one") + ".c2ln_-",
	}
}

// claims are the middle of a registration token.
func claims(subject, cluster, shard string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"sub":%q,"cluster_id":%q,"shard":%q}`, subject, cluster, shard))
}

// oneWord is what no shell makes anything of.
var oneWord = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func TestAJoinTokenIsOneWordThatComesBack(t *testing.T) {
	want := someJoinToken()
	text, err := want.Text()
	if err != nil || !oneWord.MatchString(text) || !strings.HasPrefix(text, "bj1.") {
		t.Fatalf("%q, %v", text, err)
	}
	got, err := wire.ParseJoinToken(text)
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestAJoinTokenHasNothingInItThatIsNotOfACluster(t *testing.T) {
	for what, change := range map[string]func(*wire.JoinToken){
		"no cluster":            func(j *wire.JoinToken) { j.ClusterID = "" },
		"a cluster with tricks": func(j *wire.JoinToken) { j.ClusterID = "a b" },
		"a shard's path":        func(j *wire.JoinToken) { j.Shard = "../x" },
		"an instance's line":    func(j *wire.JoinToken) { j.InstanceID = "a\nb" },
		"no address":            func(j *wire.JoinToken) { j.RegistrationAddr = "" },
		"no port":               func(j *wire.JoinToken) { j.RegistrationAddr = "10.0.0.5" },
		"a name as port":        func(j *wire.JoinToken) { j.AgentAddr = "10.0.0.5:ssh" },
		"a user":                func(j *wire.JoinToken) { j.AgentAddr = "me@10.0.0.5:80" },
		"a command":             func(j *wire.JoinToken) { j.IngressAddr = "$(reboot):80" },
		"a zone":                func(j *wire.JoinToken) { j.IngressAddr = "[fe80::1%eth0]:80" },
		"no authority":          func(j *wire.JoinToken) { j.Authorities = nil },
		"many authorities":      func(j *wire.JoinToken) { j.Authorities = make([]wire.Fingerprint, 5) },
		"no token":              func(j *wire.JoinToken) { j.Token = "" },
		"a token that is none":  func(j *wire.JoinToken) { j.Token = "a.b" },
		"a token with a quote":  func(j *wire.JoinToken) { j.Token = "a.b.c'" },
		"another's token":       func(j *wire.JoinToken) { j.InstanceID = "hst06bgm7733st2576nx5jht5abcd" },
		"a token of another":    func(j *wire.JoinToken) { j.Token = "eyJh." + claims(j.InstanceID, "test", "one") + ".c2ln_-" },
		"another shard's":       func(j *wire.JoinToken) { j.Token = "eyJh." + claims(j.InstanceID, "prod", "two") + ".c2ln_-" },
		"a token of nothing":    func(j *wire.JoinToken) { j.Token = "eyJh.bm90aGluZw.c2ln_-" },
		"too long":              func(j *wire.JoinToken) { j.Token = strings.Repeat("a", 20_000) + ".b.c" },
	} {
		j := someJoinToken()
		change(&j)
		if text, err := j.Text(); !errors.Is(err, wire.ErrJoinToken) {
			t.Errorf("%s is written as %q, %v", what, text, err)
		}
		raw, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wire.ParseJoinToken("bj1." + base64.RawURLEncoding.EncodeToString(raw)); !errors.Is(err, wire.ErrJoinToken) {
			t.Errorf("%s is read: %v", what, err)
		}
	}
}

func TestAJoinTokenThatWasCutOrChangedIsRefusedWithoutRepeatingIt(t *testing.T) {
	j := someJoinToken()
	text, err := j.Text()
	if err != nil {
		t.Fatal(err)
	}
	body := strings.TrimPrefix(text, "bj1.")
	for _, bad := range []string{
		"", "bj1.", body, "bj2." + body, text[:len(text)-3], text + "=", text + "\n", " " + text, text + text, "bj1." + body[1:],
		"bj1." + base64.RawURLEncoding.EncodeToString([]byte(`{"c":"prod","x":1}`)),
		"bj1." + base64.RawURLEncoding.EncodeToString([]byte(`{} {}`)),
		"bj1." + base64.RawURLEncoding.EncodeToString([]byte(`[]`)),
		"bj1." + strings.Repeat("A", wire.MaxJoinToken),
	} {
		_, err := wire.ParseJoinToken(bad)
		if !errors.Is(err, wire.ErrJoinToken) {
			t.Errorf("%.40q is read: %v", bad, err)
			continue
		}
		if strings.Contains(err.Error(), "eyJ") || len(err.Error()) > 200 {
			t.Errorf("the error repeats it: %v", err)
		}
	}
}

func FuzzAJoinTokenIsReadAsItIsWritten(f *testing.F) {
	j := someJoinToken()
	text, err := j.Text()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add("bj1.e30")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := wire.ParseJoinToken(text)
		if err != nil {
			return
		}
		again, err := got.Text()
		if err != nil || !oneWord.MatchString(again) {
			t.Fatalf("%q is written as %q, %v", text, again, err)
		}
		same, err := wire.ParseJoinToken(again)
		if err != nil || !reflect.DeepEqual(same, got) {
			t.Fatalf("%q comes back as %+v, %v", text, same, err)
		}
	})
}
