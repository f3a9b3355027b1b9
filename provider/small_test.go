package provider_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

func TestLimitsRoundAsKubernetesDoes(t *testing.T) {
	for _, c := range []struct {
		surge, unavailable provider.IntOrPercent
		replicas           int
		wantSurge, wantUn  int
	}{
		{"", "", 1, 1, 0}, {"", "", 4, 1, 0}, {"", "", 5, 2, 0}, {"", "", 0, 0, 1},
		{"25%", "25%", 10, 3, 2}, {"25%", "25%", 1, 1, 0}, {"0", "25%", 2, 0, 1}, {"0%", "1%", 10, 0, 1},
		{"3", "2", 10, 3, 2}, {"100%", "100%", 7, 7, 7}, {"1%", "0", 1000, 10, 0}, {"1%", "0", 1, 1, 0},
	} {
		r := &provider.RolloutSpec{MaxSurge: c.surge, MaxUnavailable: c.unavailable}
		surge, un, err := r.Limits(c.replicas)
		if err != nil || surge != c.wantSurge || un != c.wantUn {
			t.Errorf("%q and %q of %d are %d and %d, %v, want %d and %d", c.surge, c.unavailable, c.replicas, surge, un, err, c.wantSurge, c.wantUn)
		}
	}
	if surge, un, err := (*provider.RolloutSpec)(nil).Limits(8); surge != 2 || un != 0 || err != nil {
		t.Errorf("without bounds: %d, %d, %v", surge, un, err)
	}
}

func TestIntOrPercentRefusesNonsense(t *testing.T) {
	for _, text := range []provider.IntOrPercent{"", "-1", "1.5", "101%", "%", "5 %", "1001", "x", "99999999999999999999", "+1%"} {
		if n, err := text.Of(10, true); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("%q of 10 is %d, %v", text, n, err)
		}
		for _, r := range []provider.RolloutSpec{{MaxSurge: text}, {MaxUnavailable: text}} {
			if _, _, err := r.Limits(10); (err == nil) != (text == "") {
				t.Errorf("limits of %+v: %v", r, err)
			}
		}
	}
}

func TestIntOrPercentReadsNumbersAndStrings(t *testing.T) {
	var r provider.RolloutSpec
	if err := json.Unmarshal([]byte(`{"max_surge":2,"max_unavailable":"25%"}`), &r); err != nil || r.MaxSurge != "2" || r.MaxUnavailable != "25%" {
		t.Errorf("read %+v, %v", r, err)
	}
	for _, text := range []string{`{"max_surge":2.5}`, `{"max_surge":true}`, `{"max_surge":[]}`} {
		if err := json.Unmarshal([]byte(text), &r); err == nil {
			t.Errorf("%s was read as %+v", text, r)
		}
	}
	if err := json.Unmarshal([]byte(`{"max_surge":null}`), &r); err != nil || r.MaxSurge != "" {
		t.Errorf("null is %q, %v", r.MaxSurge, err)
	}
}

func TestInitialRelease(t *testing.T) {
	r := provider.ProvisionRequest{InstanceID: id.New(id.KindWorkload)}
	derived := r.InitialRelease()
	if derived.Kind() != id.KindRelease || derived.UUID() != r.InstanceID.UUID() {
		t.Errorf("the derived release is %s", derived)
	}
	r.ReleaseID = id.New(id.KindRelease)
	if got := r.InitialRelease(); got != r.ReleaseID {
		t.Errorf("the given release is %s", got)
	}
}

func TestWhereAPortIsPublished(t *testing.T) {
	for _, c := range []struct {
		port      provider.PortSpec
		published bool
		address   string
	}{
		{provider.PortSpec{Container: 80}, false, "127.0.0.1"},
		{provider.PortSpec{Container: 80, Host: 80}, true, "127.0.0.1"},
		{provider.PortSpec{Container: 80, Public: true}, true, "0.0.0.0"},
		{provider.PortSpec{Container: 80, BindAddress: "10.0.0.1"}, true, "10.0.0.1"},
		{provider.PortSpec{Container: 80, BindAddress: "::", Public: true}, true, "::"},
	} {
		if c.port.Published() != c.published || c.port.HostAddress() != c.address {
			t.Errorf("%+v: published %v on %s", c.port, c.port.Published(), c.port.HostAddress())
		}
	}
	for protocol, transport := range map[string]string{"": "tcp", "tcp": "tcp", "http": "tcp", "grpc": "tcp", "udp": "udp"} {
		if got := (provider.PortSpec{Protocol: protocol}).Transport(); got != transport {
			t.Errorf("%q goes over %s", protocol, got)
		}
	}
}

func TestWhereASecretAppears(t *testing.T) {
	r := provider.SecretRef{Key: "db/pass-word"}
	if r.EffectiveType() != secrets.SecretEnv || r.EnvName() != "DB_PASS_WORD" || r.MountPath() != "/run/secrets/db/pass-word" {
		t.Errorf("%s %s %s", r.EffectiveType(), r.EnvName(), r.MountPath())
	}
	r = provider.SecretRef{Key: "x", Type: secrets.SecretFile, EnvKey: "Y", Path: "/z"}
	if r.EffectiveType() != secrets.SecretFile || r.EnvName() != "Y" || r.MountPath() != "/z" {
		t.Errorf("%s %s %s", r.EffectiveType(), r.EnvName(), r.MountPath())
	}
	for key, want := range map[string]string{"": "", "a.b": "A_B", "1x": "_1X", "ä": "_", "A_b": "A_B"} {
		if got := provider.EnvName(key); got != want {
			t.Errorf("EnvName(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestLogLinesComeBackAsTheyWere(t *testing.T) {
	at := time.Date(2031, 2, 3, 4, 5, 6, 7, time.FixedZone("x", 3600))
	want := []provider.LogLine{
		{Time: at, Stream: provider.LogStdout, Service: "web", Replica: 1, Line: `{"a":"b"} <&> ` + "\u2028"},
		{Time: at, Stream: provider.LogStderr, Service: "web", Line: ""},
		{Time: at, Stream: provider.LogStdout, Service: "web", Line: strings.Repeat("\x01", provider.MaxLogLine), Partial: true},
	}
	var stream []byte
	for _, line := range want {
		var err error
		if stream, err = provider.AppendLogLine(stream, line); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(string(stream), "\n"); n != len(want) {
		t.Errorf("%d lines in the stream", n)
	}
	var got []provider.LogLine
	for line, err := range provider.DecodeLogs(iotest.HalfReader(strings.NewReader(string(stream)))) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines came back", len(got))
	}
	for i := range want {
		if !got[i].Time.Equal(want[i].Time) || got[i].Time.Location() != time.UTC {
			t.Errorf("line %d is of %s", i, got[i].Time)
		}
		got[i].Time = want[i].Time
		if got[i] != want[i] {
			t.Errorf("line %d is %.100v", i, got[i])
		}
	}
	if _, err := provider.AppendLogLine(nil, provider.LogLine{Line: strings.Repeat("x", provider.MaxLogLine+1)}); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("a line above the bound: %v", err)
	}
}

func TestABrokenLogStreamEndsWithOneError(t *testing.T) {
	broken := errors.New("connection reset")
	for name, r := range map[string]io.Reader{
		"nonsense": strings.NewReader("{}\nnonsense\n{}\n"),
		"broken":   io.MultiReader(strings.NewReader("{}\n"), iotest.ErrReader(broken)),
		"endless":  io.MultiReader(strings.NewReader("{}\n"), strings.NewReader(strings.Repeat("x", 1<<20))),
	} {
		lines, errs := 0, 0
		for _, err := range provider.DecodeLogs(r) {
			if err != nil {
				errs++
			} else {
				lines++
			}
		}
		if lines != 1 || errs != 1 {
			t.Errorf("%s: %d lines and %d errors", name, lines, errs)
		}
	}
	for range provider.DecodeLogs(strings.NewReader("{}\n{}\n")) {
		break // leaving early must not panic
	}
}

func TestKey(t *testing.T) {
	if key, err := provider.Key("instance", "wkl1", "record"); err != nil || key != "instance/wkl1/record" {
		t.Errorf("Key is %q, %v", key, err)
	}
	if _, err := provider.Key("a", ".."); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("a bad part: %v", err)
	}
	if err := provider.CheckKey(strings.Repeat("a/", provider.MaxKeyLength)); err == nil || len(err.Error()) > 400 {
		t.Errorf("a long key: %v", err)
	}
}

func FuzzKeys(f *testing.F) {
	for _, key := range []string{"", "a", "a/b", "../a", "a//b", "a.b/..", "a@", strings.Repeat("a", 600)} {
		f.Add(key)
	}
	s, err := provider.NewDirStore(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, key string) {
		bad := provider.CheckKey(key) != nil
		if bad != (provider.CheckPrefix(key+"/") != nil) {
			t.Errorf("%q as a key and as a prefix", key)
		}
		v, err := s.Put(t.Context(), key, []byte(key), "")
		if bad {
			if !errors.Is(err, provider.ErrInvalid) {
				t.Errorf("Put(%q): %v", key, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if keys, err := s.List(t.Context(), ""); err != nil || len(keys) != 1 || keys[0] != key {
			t.Errorf("List is %q, %v, want %q", keys, err, key)
		}
		if err := s.Delete(t.Context(), key, v); err != nil {
			t.Error(err)
		}
	})
}
