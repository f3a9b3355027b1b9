package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
)

// controlPlane is a shard that takes registrations and agents on loopback.
func controlPlane(t *testing.T) *shard.Shard {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	registrations, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	agents, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	loader, err := config.NewLoader(config.LoaderOptions{Source: source(fmt.Sprintf(`{
		"cluster": {"id": "prod"},
		"shard": {"name": "one", "provider": {"kind": "fake"}, "server": {"registration_addr": %q, "agent_addr": %q}},
	}`, registrations.Addr(), agents.Addr()))})
	must(err)
	providers, err := infra.NewRegistry(map[string]infra.OpenFunc{fake.Kind: fake.NewCloud(fake.Options{Now: time.Now}).Open})
	must(err)
	s, err := shard.Open(ctx, shard.Options{
		ServerID: "test", Storage: storage.NewMemory(), Secrets: secrets.NewMemory(), Loader: loader, Providers: providers,
		CacheDir: t.TempDir(), Timing: hub.Timing{Heartbeat: 200 * time.Millisecond}, Alone: true,
	})
	must(err)
	serving, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(serving, registrations, agents) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, s.Close()); err != nil {
			t.Error(err)
		}
	})
	must(s.Manager.RebuildCache(ctx))
	return s
}

type source string

func (s source) Read(context.Context) ([]byte, string, error) { return []byte(s), "1", nil }

func mint(t *testing.T, s *shard.Shard, name string) *instances.JoinResponse {
	t.Helper()
	made, err := s.Manager.JoinHost(t.Context(), instances.JoinRequest{Tenant: "default", Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestAHostJoinsAndItsAgentConnects(t *testing.T) {
	s := controlPlane(t)
	made, dir := mint(t, s, "attic"), filepath.Join(t.TempDir(), "agent")
	var out, errs wiretest.Log
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	code := -1
	wg.Go(func() { code = run(ctx, []string{"join", made.Token, "--dir", dir, "--run"}, &out, &errs) })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !s.Hub.Online(made.InstanceID) && ctx.Err() == nil {
		<-tick.C
	}
	online := s.Hub.Online(made.InstanceID)
	cancel()
	wg.Wait()
	if !online || code != exitOK || !strings.Contains(out.String(), "This host is "+made.InstanceID+", and is registered") {
		t.Fatalf("online %v, code %d\n%s\n%s", online, code, &out, &errs)
	}
	if strings.Contains(out.String()+errs.String(), made.Token) {
		t.Error("the token is printed")
	}

	// It is the same host when it is asked to join once more, and says how to go on.
	out = wiretest.Log{}
	if code := run(t.Context(), []string{"join", "--dir", dir, made.Token}, &out, &errs); code != exitOK || !strings.Contains(out.String(), "berth-node agent --dir "+dir) {
		t.Errorf("code %d\n%s\n%s", code, &out, &errs)
	}
	other := mint(t, s, "cellar")
	errs = wiretest.Log{}
	if code := run(t.Context(), []string{"join", other.Token, "--dir", dir}, &out, &errs); code != exitError || !strings.Contains(errs.String(), "another identity") {
		t.Errorf("code %d\n%s", code, &errs)
	}

	// Once it is removed, its agent is let in no more.
	if err := s.Manager.DeleteInstanceFor(t.Context(), "default", made.InstanceID); err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(t.TempDir(), "second")
	errs = wiretest.Log{}
	if code := run(t.Context(), []string{"join", made.Token, "--dir", second}, &out, &errs); code != exitError || !strings.Contains(errs.String(), "instance_deleted") {
		t.Errorf("code %d\n%s", code, &errs)
	}
	if left, err := os.ReadDir(second); err != nil || len(left) > 1 {
		t.Errorf("the refused host keeps %v, %v", left, err)
	}
}

func TestAHostThatWasToldOfAnotherClusterSaysNothingToThisOne(t *testing.T) {
	here, there := controlPlane(t), controlPlane(t)
	token := mint(t, here, "attic")
	swapped := swapAuthorities(t, token.Token, mint(t, there, "attic").Token)
	dir := filepath.Join(t.TempDir(), "agent")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"join", swapped, "--dir", dir}, &out, &errs)
	if code != exitError || !strings.Contains(errs.String(), "nothing was sent to it") {
		t.Fatalf("code %d\n%s", code, &errs)
	}
	// So the token is good still.
	if code := run(t.Context(), []string{"join", token.Token, "--dir", dir}, &out, &errs); code != exitOK {
		t.Fatalf("code %d\n%s", code, &errs)
	}
}

func TestAWrongJoinSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"join"}, exitUsage, "berth node join --name"},
		{[]string{"join", "-h"}, exitOK, "berth-node join TOKEN"},
		{[]string{"join", "bj1.x", "bj1.y"}, exitUsage, "one word"},
		{[]string{"join", "bj1.x", "--docker", "tcp://10.0.0.1:1"}, exitUsage, "unix:///var/run/docker.sock"},
		{[]string{"join", "bj1.x", "--dir", "/nowhere/at/all"}, exitError, "not a join token"},
		{[]string{"join", "hello", "--dir", "/nowhere/at/all"}, exitError, "does not begin with bj1."},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), c.args, &out, &errs); code != c.code || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v: code %d, %q; want %d and %s", c.args, code, errs.String(), c.code, c.says)
		}
	}
	if _, err := os.Stat("/nowhere"); !os.IsNotExist(err) {
		t.Error("a folder was made for a token that is none")
	}
}

func TestTheCommandThatIsShownIsReadAsItIsMeant(t *testing.T) {
	for text, want := range map[string]string{
		"/var/lib/berth-2/a.b": "/var/lib/berth-2/a.b", "/srv/my host": "'/srv/my host'", "/srv/$(x)": "'/srv/$(x)'", "/srv/a'b": `'/srv/a'\''b'`,
	} {
		if got := oneWord(text); got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
}

// swapAuthorities puts the authorities of one token into another.
func swapAuthorities(t *testing.T, into, from string) string {
	t.Helper()
	a, errA := wire.ParseJoinToken(into)
	b, errB := wire.ParseJoinToken(from)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	a.Authorities = b.Authorities
	text, err := a.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
