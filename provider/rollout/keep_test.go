package rollout

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is a record in which every field is used somewhere.
func sample() *record {
	gen := func(kind string, n byte) id.ID {
		uuid := [16]byte{1, 2, 3, 4, 5, 6, 0x70, n, 0x80}
		v, err := id.FromUUID(kind, uuid)
		if err != nil {
			panic(err)
		}
		return v
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	workload, rel1, rel2 := gen(id.KindWorkload, 1), gen(id.KindRelease, 1), gen(id.KindRelease, 2)
	services := []provider.ServiceSpec{{
		Name: "web", Image: "web:1", Env: map[string]string{"A": "1"}, Resources: provider.ResourceSpec{Replicas: 2, MemoryMB: 64},
		ConfigFiles: []provider.ConfigFile{{Name: "conf", Path: "/etc/web/conf", Key: "rollout/x/y"}},
	}}
	changed := slices.Clone(services)
	changed[0].Image = "web:2"
	hash := func(s []provider.ServiceSpec) string {
		h, err := contentHash(snapshots(s))
		if err != nil {
			panic(err)
		}
		return h
	}
	return &record{
		Format: format, Workload: workload, Provider: "docker",
		Provision: provider.ProvisionRequest{
			InstanceID: workload, TenantID: "acme", Name: "shop", Kind: provider.KindDeployment, Services: services,
			Labels: map[string]string{"team": "a"}, ReleaseID: rel1, Network: "back",
		},
		NextVersion: 3, NextNumber: 3, Current: rel1, Open: gen(id.KindRollout, 2), Scaled: &provider.ResourceSpec{Replicas: 3, MemoryMB: 64},
		Removing: true,
		Releases: []Release{
			{ID: rel1, Ref: rel1, Workload: workload, Version: 1, Hash: hash(services), Services: snapshots(services), CreatedAt: at, Initiator: "ada", ServedAt: &at},
			{ID: rel2, Ref: rel2, Workload: workload, Version: 2, Hash: hash(changed), Services: snapshots(changed), CreatedAt: at, Notes: "second"},
		},
		Rollouts: []Rollout{
			{
				ID: gen(id.KindRollout, 1), Workload: workload, Number: 1, Kind: KindInitial, Release: rel1, Ref: rel1, ReleaseVersion: 1,
				Strategy: StrategyInitial, State: StateSucceeded, Services: map[string]Progress{"web": {State: StateSucceeded}},
				CreatedAt: at, StartedAt: &at, EndedAt: &at, Deadline: at.Add(time.Minute), Moves: 3, ProviderRef: "ref",
			},
			{
				ID: gen(id.KindRollout, 2), Workload: workload, Number: 2, Kind: KindDeploy, Release: rel2, Ref: rel2, ReleaseVersion: 2, Base: rel1,
				Strategy: provider.StrategyRolling, Bounds: &provider.RolloutSpec{MaxSurge: "1", ReadyTimeout: time.Minute},
				State: StateRunning, Phase: PhaseUndo, CancelWanted: true, Undoing: StateRolledBack, Initiator: "ada",
				Services: map[string]Progress{"web": {State: StateRunning, Message: "exit code 3"}}, CreatedAt: at, StartedAt: &at,
				Deadline: at.Add(time.Minute), Until: &at, Attempts: 2, RetryAt: &at, LastError: &Failure{Code: "busy", Message: "busy"},
				Failure: &Failure{Code: "not_ready", Message: "exit code 3"}, UndoFailure: &Failure{Code: "error", Message: "odd"},
				Restore: true, Untouched: true, Request: &Request{ReleaseID: rel2, Digest: "sha256:00"}, Moves: 9, Asked: 1,
				Journal: []Entry{{At: at, Phase: PhaseApply, Note: "ask for release 2"}, {At: at, Phase: PhaseUndo}},
			},
		},
	}
}

func TestTheFormOfARecordIsTheGoldenOne(t *testing.T) {
	rec := sample()
	everyFieldIsUsed(t, reflect.ValueOf(*rec), "record", map[string]bool{})
	value, err := encode(rec)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, value, "", "  "); err != nil {
		t.Fatal(err)
	}
	text.WriteByte('\n')
	path := filepath.Join("testdata", "record.json")
	if *update {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(golden, text.Bytes()) {
		t.Fatalf("records are written as\n%s\nwhich is not %s; stores hold the old form", text.String(), path)
	}
	back, err := decode(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, rec) {
		t.Fatalf("read back as %+v\nwant %+v", back, rec)
	}
}

// everyFieldIsUsed finds fields of this package's types that the sample leaves
// empty everywhere: the golden file would say nothing about them.
func everyFieldIsUsed(t *testing.T, v reflect.Value, path string, used map[string]bool) {
	t.Helper()
	walkFields(v, used)
	for name, ok := range used {
		if !ok {
			t.Errorf("%s: field %s is empty in the sample", path, name)
		}
	}
}

func walkFields(v reflect.Value, used map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walkFields(v.Elem(), used)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkFields(v.Index(i), used)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			walkFields(v.MapIndex(key), used)
		}
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[record]().PkgPath() {
			return
		}
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			used[name] = used[name] || !v.Field(i).IsZero()
			walkFields(v.Field(i), used)
		}
	}
}

func TestARecordThatIsNotUnderstoodIsAnErrorAndStays(t *testing.T) {
	good, err := encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	text := string(good)
	for name, bad := range map[string]string{
		"an unknown field":         strings.Replace(text, `"provider":`, `"colour":"red","provider":`, 1),
		"an unknown field below":   strings.Replace(text, `"hash":`, `"colour":"red","hash":`, 1),
		"an unknown field of ours": strings.Replace(text, `"image":`, `"colour":"red","image":`, 1),
		"another format":           strings.Replace(text, `"format":1`, `"format":2`, 1),
		"something behind it":      text + "{}",
		"half of it":               text[:len(text)/2],
		"nothing":                  "",
		"a rollout that is gone":   strings.Replace(text, `"open":"rol`, `"open":"rox`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			if bad == text {
				t.Fatal("the case changes nothing")
			}
			w := newWorld(t, Options{})
			workload := sample().Workload
			w.store.records[DefaultPrefix+"/"+workload.String()] = provider.Record{Value: []byte(bad), Version: "1"}
			w.unchanged(func() {
				_, err := w.Step(w.ctx(), workload)
				w.wantErr(err, ErrRecord)
				_, err = w.Deploy(w.ctx(), provider.DeployRequest{InstanceID: workload, Services: []provider.ServiceDeploySpec{image("web", "web:3")}}, With{})
				w.wantErr(err, ErrRecord)
				w.wantErr(w.Deprovision(w.ctx(), workload), ErrRecord)
			})
		})
	}
}

func TestTheHashIsOfTheContentAlone(t *testing.T) {
	a := snapshots([]provider.ServiceSpec{{Name: "web", Image: "web:1", Env: map[string]string{"A": "1", "B": "2"}}, {Name: "db", Image: "db:1"}})
	b := []provider.ServiceSnapshot{a[1], a[0]}
	ha, err := contentHash(a)
	if err != nil {
		t.Fatal(err)
	}
	hb, err := contentHash(b)
	if err != nil || ha != hb {
		t.Fatalf("the order of services changes the hash: %s, %s, %v", ha, hb, err)
	}
	kept := a[0]
	kept.Env = nil
	if hc, _ := contentHash([]provider.ServiceSnapshot{kept, a[1]}); hc == ha {
		t.Fatal("content that differs has one hash")
	}
}

func TestListsAreNewestFirstAndTheirCursorsOutliveTheirAnchor(t *testing.T) {
	w := newWorld(t, Options{Policy: Policy{KeepReleases: 4, KeepRollouts: 100}}).provisioned()
	for i := range 4 {
		w.deployed(image("web", fmt.Sprintf("web:n%d", i)))
	}
	versions := func(page Page) ([]int64, string) {
		t.Helper()
		list, next, err := w.Releases(w.ctx(), w.workload, page)
		if err != nil {
			t.Fatal(err)
		}
		var out []int64
		for _, r := range list {
			out = append(out, r.Version)
		}
		return out, next
	}
	first, next := versions(Page{Limit: 2})
	if !slices.Equal(first, []int64{5, 4}) || next == "" {
		t.Fatalf("%v, %q", first, next)
	}
	releases, _, err := w.Releases(w.ctx(), w.workload, Page{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Rollback(w.ctx(), w.workload, releases[3].ID, With{}); err != nil {
		t.Fatal(err)
	}
	w.drive()
	w.served(2)
	for i := range 5 { // version 4 goes, the anchor of the cursor; version 2 serves
		w.deployed(image("web", fmt.Sprintf("web:broken-%d", i)))
	}
	if second, next := versions(Page{Cursor: next, Limit: 2}); !slices.Equal(second, []int64{2}) || next != "" {
		t.Fatalf("%v, %q", second, next)
	}
	if all, next := versions(Page{}); !slices.Equal(all, []int64{10, 9, 8, 7, 2}) || next != "" {
		t.Fatalf("%v, %q", all, next)
	}
	rollouts, next, err := w.Rollouts(w.ctx(), w.workload, Page{Limit: 11})
	if err != nil || len(rollouts) != 11 || rollouts[0].Number != 11 || next != "" {
		t.Fatalf("%d rollouts, %q, %v", len(rollouts), next, err)
	}
	for _, page := range []Page{{Cursor: "r3"}, {Cursor: "v0"}, {Cursor: "v03"}, {Cursor: "v-1"}, {Cursor: "x"}, {Cursor: "v"}, {Limit: -1}, {Limit: MaxPage + 1}} {
		_, _, err := w.Releases(w.ctx(), w.workload, page)
		w.wantErr(err, provider.ErrInvalid)
	}
}

func TestWhatNothingRefersToIsDroppedAboveTheBound(t *testing.T) {
	w := newWorld(t, Options{Policy: Policy{KeepReleases: 3, KeepRollouts: 5}}).provisioned()
	v1 := w.served(1)
	for i := range 10 {
		w.deployed(image("web", fmt.Sprintf("web:n%d", i)))
	}
	for i := range 10 { // none of them serves, and 11 must stay for all that
		w.deployed(image("web", fmt.Sprintf("web:broken-%d", i)))
	}
	w.served(11)
	releases, _, err := w.Releases(w.ctx(), w.workload, Page{})
	if err != nil {
		t.Fatal(err)
	}
	var versions []int64
	for _, r := range releases {
		versions = append(versions, r.Version)
	}
	if !slices.Equal(versions, []int64{21, 20, 19, 11}) {
		t.Fatalf("versions %v", versions)
	}
	rollouts, _, err := w.Rollouts(w.ctx(), w.workload, Page{})
	if err != nil || len(rollouts) != 5 {
		t.Fatalf("%d rollouts, %v", len(rollouts), err)
	}
	_, err = w.Rollback(w.ctx(), w.workload, v1.ID, With{})
	w.wantErr(err, provider.ErrNotFound)
}

func TestARecordThatGrowsTooLargeDropsOldReleasesFirst(t *testing.T) {
	rec := sample()
	big := strings.Repeat("x", 500<<10)
	for range 12 {
		rec.addRelease(Release{Services: snapshots([]provider.ServiceSpec{{Name: "web", Env: map[string]string{"BIG": big}}})})
		rec.Releases[len(rec.Releases)-1].ID = id.New(id.KindRelease)
	}
	value, err := encode(rec)
	if err != nil || len(value) > provider.MaxRecordSize {
		t.Fatalf("%d bytes, %v", len(value), err)
	}
	var versions []int64
	for _, r := range rec.Releases {
		versions = append(versions, r.Version)
	}
	if want := []int64{1, 2, 7, 8, 9, 10, 11, 12, 13, 14}; !slices.Equal(versions, want) {
		t.Fatalf("versions %v, want %v", versions, want)
	}
}

// file is a deploy that sets one config file.
func file(content string) provider.ServiceDeploySpec {
	d := image("web", "web:1")
	d.ConfigFiles = []provider.ConfigFile{{Name: "conf", Path: "/etc/web/conf", Content: content}}
	return d
}

func TestTheContentOfConfigFilesIsInTheVaultAndNowhereElse(t *testing.T) {
	vault := secrets.NewMemory()
	w := newWorld(t, Options{Vault: vault, Policy: Policy{KeepReleases: 1, KeepRollouts: 100}}).provisioned()
	const content = "password=hunter2"
	req := w.change(file(content))
	first, err := w.Deploy(w.ctx(), req, With{})
	if err != nil {
		t.Fatal(err)
	}
	w.drive()
	again, err := w.Deploy(w.ctx(), req, With{})
	if err != nil || again.Rollout.ID != first.Rollout.ID {
		t.Fatalf("%+v, %v", again, err)
	}
	for key, rec := range w.store.records {
		if bytes.Contains(rec.Value, []byte("hunter2")) {
			t.Fatalf("record %s holds the content", key)
		}
	}
	kept := w.served(2).Services[0].ConfigFiles[0]
	held, _, err := vault.Get(w.ctx(), secrets.Ref{Tenant: "acme", Key: kept.Key}, 0)
	if err != nil || held.RevealString() != content {
		t.Fatalf("%s: %v", kept.Key, err)
	}
	if ro := w.deployed(file(content)); ro.ReleaseVersion != 2 {
		t.Fatalf("the same content is release %d", ro.ReleaseVersion)
	}
	for i := range 4 {
		w.deployed(file(fmt.Sprint("other ", i)))
	}
	w.keys(vault, 2) // the current release's and that of one more
	refused := w.change(file("lost"))
	refused.Services = append(refused.Services, image("nothing", "x"))
	if _, err := w.Deploy(w.ctx(), refused, With{}); err == nil {
		t.Fatal("an unknown service was taken")
	}
	w.keys(vault, 2)
	if err := w.Deprovision(w.ctx(), w.workload); err != nil {
		t.Fatal(err)
	}
	w.keys(vault, 0)
}

func (w *world) keys(vault secrets.Vault, want int) {
	w.t.Helper()
	all, err := vault.List(w.ctx(), "acme")
	if err != nil || len(all) != want {
		w.t.Fatalf("%d keys in the vault, %v; want %d", len(all), err, want)
	}
}

func TestAFailureIsTheErrorThatItWas(t *testing.T) {
	for _, c := range codes {
		f := failureOf(fmt.Errorf("outside: %w", c.err))
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var back Failure
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		newWorld(t, Options{}).wantErr(&back, c.err)
	}
	long := failureOf(fmt.Errorf("%s", strings.Repeat("é", maxMessage)))
	if len(long.Message) > maxMessage+len("…") || long.Code != codeOther || long.Unwrap() != nil {
		t.Fatalf("%d bytes, code %s", len(long.Message), long.Code)
	}
}
