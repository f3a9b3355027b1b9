package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/secrets"
)

// needing makes desired services that name secrets, whatever a file can say.
type needing struct {
	api.Store
	refs map[string]bool // name -> optional
}

func (n needing) ListDesiredServices(ctx context.Context, app string) ([]store.DesiredService, error) {
	all, err := n.Store.ListDesiredServices(ctx, app)
	for i := range all {
		for name, optional := range n.refs {
			all[i].Spec.Env = append(all[i].Spec.Env, envSecret(spec.SecretKey(all[i].AppID, name), optional))
		}
	}
	return all, err
}

func TestASecretIsSetListedAndForgottenWithoutItsValue(t *testing.T) {
	vault := secrets.NewMemory()
	d := start(t, func(deps *api.Deps) {
		deps.Secrets, deps.Store = vault, needing{deps.Store, map[string]bool{"TOKEN": false, "EXTRA": true}}
	})
	c := client.New(d.Socket)
	defer c.Close()
	ctx := t.Context()
	if set, err := c.SetSecret(ctx, "shop", "TOKEN", []byte("\x00binary\n")); err != nil || set.Version != 1 || len(set.UsedBy) != 0 {
		t.Fatalf("before the app: %+v, %v", set, err)
	}
	apply(t, d, web)
	set, err := c.SetSecret(ctx, "shop", "TOKEN", []byte("other"))
	if err != nil || set.Version != 2 || strings.Join(set.UsedBy, " ") != "web" || !set.Required {
		t.Fatalf("%+v, %v", set, err)
	}
	ref := secrets.Ref{Tenant: api.Tenant, Key: "shop/TOKEN"}
	if got, _, err := vault.Get(ctx, ref, 1); err != nil || got.RevealString() != "\x00binary\n" {
		t.Errorf("kept %q, %v", got.RevealString(), err)
	}
	list, err := c.Secrets(ctx, "shop")
	if err != nil || len(list.Secrets) != 2 || list.Secrets[0].Name != "EXTRA" || list.Secrets[0].Set || list.Secrets[0].Required || !list.Secrets[1].Set {
		t.Errorf("%+v, %v", list, err)
	}

	if _, err := c.DeleteSecret(ctx, "shop", "TOKEN", false); !client.IsProblem(err, wire.ProblemNeedsConfirmation) {
		t.Errorf("one that is needed: %v", err)
	}
	if left, err := c.DeleteSecret(ctx, "shop", "TOKEN", true); err != nil || left.Set || !left.Required {
		t.Errorf("forced: %+v, %v", left, err)
	}
	if _, err := c.DeleteSecret(ctx, "shop", "TOKEN", true); !client.IsProblem(err, wire.ProblemNotFound) {
		t.Errorf("again: %v", err)
	}
	if _, _, err := vault.Get(ctx, ref, 0); !errors.Is(err, secrets.ErrNotFound) {
		t.Errorf("it is still kept: %v", err)
	}
	if _, err := c.SetSecret(ctx, "shop", "EXTRA", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteSecret(ctx, "shop", "EXTRA", false); err != nil {
		t.Errorf("one that nobody needs: %v", err)
	}
}

func TestASecretThatAWorkloadNeedsStays(t *testing.T) {
	d := start(t, nil)
	ctx, c := workloadClient(t, d)
	for _, key := range []string{"bank/PIN", "bank/SETTINGS"} { // its provider has a vault of its own
		if _, err := d.Workloads.Vault.Put(ctx, secrets.Ref{Tenant: api.Tenant, Key: key}, secrets.NewSecretString("x")); err != nil {
			t.Fatal(err)
		}
		if set, err := c.SetSecret(ctx, "bank", strings.TrimPrefix(key, "bank/"), []byte("x")); err != nil || len(set.Users()) != 0 {
			t.Fatalf("%+v, %v", set, err)
		}
	}
	if _, err := c.Secrets(ctx, "till"); !client.IsProblem(err, wire.ProblemNotFound) {
		t.Errorf("of a name that nothing uses: %v", err)
	}
	applyFile(ctx, t, c, `name: till
services:
  cash:
    image: shop:1
    secrets: [{key: bank/PIN, env: PIN}, {key: bank/SPARE, env: SPARE, optional: true}]
    config_files: [{name: settings, path: /etc/till/settings.json, key: bank/SETTINGS}]
`)
	list, err := c.Secrets(ctx, "bank")
	if err != nil || len(list.Secrets) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range []struct {
		name          string
		set, required bool
	}{{"PIN", true, true}, {"SETTINGS", true, true}, {"SPARE", false, false}} {
		got := list.Secrets[i]
		if got.Name != want.name || got.Set != want.set || got.Required != want.required || len(got.UsedBy) != 0 || strings.Join(got.UsedByWorkloads, " ") != "till/cash" {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	for _, name := range []string{"PIN", "SETTINGS"} {
		_, err := c.DeleteSecret(ctx, "bank", name, false)
		if !client.IsProblem(err, wire.ProblemNeedsConfirmation) || !strings.Contains(err.Error(), name+" is needed by workload till/cash,") {
			t.Errorf("%s: %v", name, err)
		}
		left, err := c.DeleteSecret(ctx, "bank", name, true)
		if err != nil || left.Set || strings.Join(left.NeededBy, " ") != "workload till/cash" {
			t.Errorf("%s forced: %+v, %v", name, left, err)
		}
	}
	if _, err := c.SetSecret(ctx, "bank", "SPARE", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteSecret(ctx, "bank", "SPARE", false); err != nil {
		t.Errorf("one that it does without: %v", err)
	}
}

func TestWhoDoesWithoutASecretIsNotNamedAsNeedingIt(t *testing.T) {
	const file = web + "    env:\n      TOKEN: {secret: TOKEN}\n  worker:\n    image: a/web:1\n    env:\n      TOKEN: {secret: TOKEN, required: false}\n"
	d := start(t, nil)
	c := client.New(d.Socket)
	defer c.Close()
	apply(t, d, file)
	set, err := c.SetSecret(t.Context(), "shop", "TOKEN", []byte("x"))
	if err != nil || strings.Join(set.UsedBy, " ") != "web worker" || strings.Join(set.NeededBy, " ") != "web" {
		t.Errorf("%+v, %v", set, err)
	}
}

func TestSecretsOfOneAppAreNotThoseOfAnother(t *testing.T) {
	d := start(t, nil)
	c := client.New(d.Socket)
	defer c.Close()
	if _, err := c.SetSecret(t.Context(), "shop", "TOKEN", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Secrets(t.Context(), "sho"); !client.IsProblem(err, wire.ProblemNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestWhatCannotBeASecretIsRefused(t *testing.T) {
	d := start(t, nil)
	c := client.New(d.Socket)
	defer c.Close()
	for name, try := range map[string]struct {
		app, name string
		value     []byte
		kind      wire.ProblemType
	}{
		"no value":  {"shop", "TOKEN", []byte{}, wire.ProblemInvalidRequest},
		"bad name":  {"shop", "TO KEN", []byte("x"), wire.ProblemInvalidRequest},
		"a path":    {"shop", "a/b", []byte("x"), wire.ProblemInvalidRequest},
		"bad app":   {"Shop", "TOKEN", []byte("x"), wire.ProblemInvalidRequest},
		"one above": {"shop", "TOKEN", make([]byte, wire.MaxSecretBytes+1), wire.ProblemTooLarge},
	} {
		if _, err := c.SetSecret(t.Context(), try.app, try.name, try.value); !client.IsProblem(err, try.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.SetSecret(t.Context(), "shop", "TOKEN", make([]byte, wire.MaxSecretBytes)); err != nil {
		t.Errorf("the largest: %v", err)
	}
}

// breaking fails with the value in its hands.
type breaking struct{ secrets.Vault }

func (breaking) Put(_ context.Context, _ secrets.Ref, s secrets.Secret) (secrets.Version, error) {
	return 0, errors.Join(errors.New("the disk is gone"), secretError{s})
}

type secretError struct{ s secrets.Secret }

func (e secretError) Error() string { return "at " + e.s.String() }

// locked is a log that may be written by many.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const canary = "canary-5f1d0c2e9b"

// tells reports whether a text has the canary in it, plain or encoded.
func tells(text string) bool {
	return strings.Contains(text, canary) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(canary)))
}

func TestNoAnswerAndNoLogHasTheValueOfASecret(t *testing.T) {
	for _, broken := range []bool{false, true} {
		var log locked
		d := start(t, func(deps *api.Deps) {
			deps.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			deps.Store = needing{deps.Store, map[string]bool{"TOKEN": false}}
			if broken {
				deps.Secrets = breaking{deps.Secrets}
			}
		})
		apply(t, d, web)
		caller := overSocket(d.Socket)
		answers := 0
		for _, try := range []struct{ method, path, media, body string }{
			{"PUT", "/v1/apps/shop/secrets/TOKEN", "application/octet-stream", canary},
			{"PUT", "/v1/apps/shop/secrets/TOKEN", "application/json", `{"value":"` + canary + `"}`},
			{"PUT", "/v1/apps/shop/secrets/TO%20KEN", "application/octet-stream", canary},
			{"PUT", "/v1/apps/shop/secrets/TOKEN?x=y", "application/octet-stream", canary},
			{"PUT", "/v1/apps/shop/secrets/TOKEN", "application/octet-stream", strings.Repeat(canary, 100_000)[:wire.MaxSecretBytes+1]},
			{"POST", "/v1/apps/shop/secrets/TOKEN", "application/octet-stream", canary},
			{"POST", "/v1/apps/shop/restart", "application/json", `{}`},
			{"GET", "/v1/apps/shop/secrets", "", ""},
			{"GET", "/v1/apps/shop", "", ""},
			{"GET", "/v1/apps/shop/containers", "", ""},
			{"GET", "/v1/apps/shop/services/web/releases", "", ""},
			{"GET", "/v1/attempts/1", "", ""},
			{"GET", "/v1/doctor", "", ""},
			{"DELETE", "/v1/apps/shop/secrets/TOKEN", "", ""},
			{"DELETE", "/v1/apps/shop/secrets/TOKEN?force=true", "", ""},
		} {
			req, err := http.NewRequestWithContext(t.Context(), try.method, "http://berth"+try.path, strings.NewReader(try.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", try.media)
			resp, err := caller.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			answers += len(body)
			if tells(string(body)) {
				t.Errorf("%s %s: %s", try.method, try.path, body)
			}
		}
		if answers == 0 || !broken && !strings.Contains(log.text(), "secret set") {
			t.Errorf("nothing was looked at: %d bytes of answers, log %q", answers, log.text())
		}
		if tells(log.text()) {
			t.Errorf("the log: %s", log.text())
		}
	}
}

func TestAnApplyRollsWhatRunsWithAnOlderValue(t *testing.T) {
	const file = web + "    env:\n      TOKEN: {secret: TOKEN}\n"
	d := start(t, nil)
	c := client.New(d.Socket)
	defer c.Close()
	set := func(value string) {
		if _, err := c.SetSecret(t.Context(), "shop", "TOKEN", []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	set("one")
	apply(t, d, file) // the played release says version 1
	if p := plan(t, d, file); p.Changes {
		t.Errorf("with the newest value: %+v", p)
	}
	set("two")
	got := step(t, plan(t, d, file), "web")
	want := wire.FieldChange{Field: "secret TOKEN", Old: "version 1", New: "version 2"}
	if got.Action != wire.ActionUpdate || len(got.Changes) != 1 || got.Changes[0] != want {
		t.Errorf("%+v", got)
	}
	if _, err := c.DeleteSecret(t.Context(), "shop", "TOKEN", true); err != nil {
		t.Fatal(err)
	}
	if p := plan(t, d, file); p.Changes {
		t.Errorf("without one: %+v", p)
	}
}

func TestARollbackAsksForNoVersionOfASecret(t *testing.T) {
	const file = web + "    env:\n      TOKEN: {secret: TOKEN}\n"
	d := start(t, nil)
	apply(t, d, file)
	apply(t, d, edit(file, "web:1", "web:2"))
	await(t, d, rollback(t, d, wire.RollbackRequest{Service: "web"}))
	desired, err := d.Store.GetDesiredService(t.Context(), "shop-web")
	if err != nil || desired.Spec.Env[0].Secret.Version != 0 {
		t.Errorf("%+v, %v", desired, err)
	}
	if got := step(t, plan(t, d, edit(file, "web:1", "web:2")), "web"); len(got.Changes) != 1 || got.Changes[0].Field != "image" {
		t.Errorf("the next apply: %+v", got)
	}
}
