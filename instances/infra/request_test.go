package infra_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/secrets"
)

func request() infra.CreateInstanceRequest {
	return infra.CreateInstanceRequest{
		ClusterID: "prod", Shard: "eu-1a", Group: "workers", Template: "worker", InstanceKind: "knc",
		InstanceID: id.New("knc").String(), InstanceType: "m1.large", SubnetID: "subnet-a",
		UserData: secrets.NewSecretString("hunter2-token"), CACertPEM: []byte("pem"),
		Args: map[string]any{"disk": map[string]any{"gb": 20.0, "kind": "ssd"}}, CustomTags: map[string]string{"team": "a"},
	}
}

// changes are one for each field: every one makes another machine.
var changes = map[string]func(*infra.CreateInstanceRequest){
	"cluster":   func(r *infra.CreateInstanceRequest) { r.ClusterID = "x" },
	"shard":     func(r *infra.CreateInstanceRequest) { r.Shard = "x" },
	"group":     func(r *infra.CreateInstanceRequest) { r.Group = "x" },
	"template":  func(r *infra.CreateInstanceRequest) { r.Template = "x" },
	"kind":      func(r *infra.CreateInstanceRequest) { r.InstanceKind = "abc" },
	"id":        func(r *infra.CreateInstanceRequest) { r.InstanceID = id.New("knc").String() },
	"type":      func(r *infra.CreateInstanceRequest) { r.InstanceType = "x" },
	"subnet":    func(r *infra.CreateInstanceRequest) { r.SubnetID = "x" },
	"user data": func(r *infra.CreateInstanceRequest) { r.UserData = secrets.NewSecretString("x") },
	"ca":        func(r *infra.CreateInstanceRequest) { r.CACertPEM = []byte("x") },
	"args":      func(r *infra.CreateInstanceRequest) { r.Args = map[string]any{"disk": map[string]any{"gb": 21.0}} },
	"tags":      func(r *infra.CreateInstanceRequest) { r.CustomTags = nil },
	"token":     func(r *infra.CreateInstanceRequest) { r.IdempotencyToken = "x" },
}

func TestTheDigestIsOfEveryField(t *testing.T) {
	one := request()
	for what, change := range changes {
		other := one.Clone()
		if other.Digest() != one.Digest() {
			t.Fatal("a copy has another digest")
		}
		change(&other)
		if other.Digest() == one.Digest() {
			t.Errorf("a change of the %s does not change the digest", what)
		}
	}
	if n := len(one.Digest()); n == 0 || n > 63 {
		t.Errorf("a digest of %d characters fits no tag", n)
	}
}

func TestADigestDoesNotTellNothingFromEmpty(t *testing.T) {
	one, two := request(), request()
	two.InstanceID = one.InstanceID
	one.Args, one.CustomTags, one.CACertPEM = nil, nil, nil
	two.Args, two.CustomTags, two.CACertPEM = map[string]any{}, map[string]string{}, []byte{}
	two.IdempotencyToken = two.InstanceID
	if one.Digest() != two.Digest() {
		t.Error("an empty map makes another machine than none")
	}
}

func TestARequestSurvivesItsRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := request()
		one.Args = map[string]any{}
		for _, key := range rapid.SliceOf(rapid.StringMatching(`[a-z]{1,4}`)).Draw(t, "keys") {
			one.Args[key] = rapid.OneOf(
				rapid.Map(rapid.Int(), func(i int) any { return i }),
				rapid.Map(rapid.String(), func(s string) any { return s }),
				rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
			).Draw(t, "value")
		}
		raw, err := json.Marshal(one.Args)
		if err != nil {
			t.Fatal(err)
		}
		two := one
		two.Args = map[string]any{}
		if err := json.Unmarshal(raw, &two.Args); err != nil {
			t.Fatal(err)
		}
		if small := func(m map[string]any) bool {
			for _, v := range m {
				if i, ok := v.(int); ok && (i > 1<<53 || i < -1<<53) {
					return false
				}
			}
			return true
		}; small(one.Args) && one.Digest() != two.Digest() {
			t.Fatalf("read back from its record it is another request: %v, %v", one.Args, two.Args)
		}
	})
}

func TestAClonedRequestSharesNothing(t *testing.T) {
	one := request()
	want, two := one.Digest(), one.Clone()
	two.Args["disk"].(map[string]any)["gb"] = 1.0
	two.CustomTags["team"], two.CACertPEM[0] = "b", 'X'
	if one.Digest() != want {
		t.Error("a change of the copy changed the request")
	}
}

func TestUserDataDoesNotPrint(t *testing.T) {
	req := request()
	raw, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("create", "request", req)
	for _, said := range []string{
		string(raw), log.String(), fmt.Sprintf("%v %+v %#v %s %x", req, req, req, &req.UserData, req.UserData), fmt.Sprint(req.Tags()),
	} {
		if strings.Contains(said, "hunter2") {
			t.Errorf("user data in %s", said)
		}
	}
}

func TestTheTagsOfAMachineAreItsOwnersAndFitEveryProvider(t *testing.T) {
	req := request()
	tags := req.Tags()
	if !req.Owner().Is(tags, req.InstanceID) || tags["team"] != "a" {
		t.Fatalf("tags %v", tags)
	}
	for key, value := range tags {
		if len(key) > 63 || len(value) > 63 || strings.ToLower(key+value) != key+value {
			t.Errorf("tag %q=%q is not lower case of at most 63 characters", key, value)
		}
	}
	for _, key := range []string{infra.TagCluster, infra.TagShard, infra.TagInstance} {
		less := maps.Clone(tags)
		delete(less, key)
		if req.Owner().Is(less, req.InstanceID) {
			t.Errorf("without %s it is still the owner's", key)
		}
	}
	if (infra.Owner{}).Owns(map[string]string{}) {
		t.Error("nobody owns what has no tags")
	}
}

func TestARequestIsRefusedForWhatIsWrongWithIt(t *testing.T) {
	if err := request().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*infra.CreateInstanceRequest){
		`the cluster "Prod"`:       func(r *infra.CreateInstanceRequest) { r.ClusterID = "Prod" },
		`the shard "a--b"`:         func(r *infra.CreateInstanceRequest) { r.Shard = "a--b" },
		`the group ""`:             func(r *infra.CreateInstanceRequest) { r.Group = "" },
		`the template "../x"`:      func(r *infra.CreateInstanceRequest) { r.Template = "../x" },
		`of kind "knc", not "abc"`: func(r *infra.CreateInstanceRequest) { r.InstanceKind = "abc" },
		`user data of 262145 bytes`: func(r *infra.CreateInstanceRequest) {
			r.UserData = secrets.NewSecret(make([]byte, infra.MaxUserData+1))
		},
		`the instance type`:            func(r *infra.CreateInstanceRequest) { r.InstanceType = "a\nb" },
		`the subnet`:                   func(r *infra.CreateInstanceRequest) { r.SubnetID = strings.Repeat("x", infra.MaxWord+1) },
		`idempotency token`:            func(r *infra.CreateInstanceRequest) { r.IdempotencyToken = "a b" },
		`no JSON`:                      func(r *infra.CreateInstanceRequest) { r.Args = map[string]any{"f": func() {}} },
		`args of`:                      func(r *infra.CreateInstanceRequest) { r.Args = map[string]any{"f": strings.Repeat("x", infra.MaxArgs)} },
		`33 tags`:                      func(r *infra.CreateInstanceRequest) { r.CustomTags = manyTags(33) },
		`not the request's to set`:     func(r *infra.CreateInstanceRequest) { r.CustomTags = map[string]string{"berth-x": "y"} },
		`tag "A B"`:                    func(r *infra.CreateInstanceRequest) { r.CustomTags = map[string]string{"A B": "y"} },
		`the value of tag "a" is long`: func(r *infra.CreateInstanceRequest) { r.CustomTags = map[string]string{"a": "\x00"} },
	} {
		req := request()
		spoil(&req)
		err := req.Validate()
		if !errors.Is(err, infra.ErrInvalidRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want ErrInvalidRequest that says %s", err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("user data in %v", err)
		}
	}
}

func manyTags(n int) map[string]string {
	tags := map[string]string{}
	for i := range n {
		tags[fmt.Sprintf("t%d", i)] = ""
	}
	return tags
}
