package daemon

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func neighbour(name, prefix, pool string) Neighbour {
	return Neighbour{
		Name: name, Instance: "i-" + name, DataDir: "/data/" + name, PID: 7, Engine: "/run/docker.sock", Here: true, Fenced: true,
		Prefix: prefix, Pool: netip.MustParsePrefix(pool),
	}
}

func TestTwoBackendsShareNeitherNamesNorAddresses(t *testing.T) {
	first := neighbour("one", "leases", "10.214.0.0/16")
	for name, c := range map[string]struct {
		other  Neighbour
		change func(*Neighbour)
		says   string
	}{
		"all others":            {neighbour("two", "more", "10.215.0.0/16"), nil, ""},
		"one prefix":            {neighbour("two", "leases", "10.215.0.0/16"), nil, "one, which runs as process 7 on /data/one: network_prefix leases is its own as well; write others"},
		"one pool":              {neighbour("two", "more", "10.214.0.0/16"), nil, "network_pool 10.214.0.0/16 overlaps its 10.214.0.0/16; write others"},
		"a part of the pool":    {neighbour("two", "more", "10.214.8.0/21"), nil, "network_pool 10.214.8.0/21 overlaps"},
		"a pool around it":      {neighbour("two", "more", "10.0.0.0/8"), nil, "overlaps"},
		"both":                  {neighbour("two", "leases", "10.214.0.0/16"), nil, "10.214.0.0/16, and network_prefix leases"},
		"itself":                {neighbour("one", "leases", "10.214.0.0/16"), nil, ""},
		"prefix, other engine":  {neighbour("two", "leases", "10.215.0.0/16"), func(n *Neighbour) { n.Engine = "/run/other.sock" }, ""},
		"pool, other engine":    {neighbour("two", "more", "10.214.0.0/16"), func(n *Neighbour) { n.Engine = "/run/other.sock" }, "overlaps"},
		"pool, engine far away": {neighbour("two", "more", "10.214.0.0/16"), func(n *Neighbour) { n.Engine, n.Here, n.Fenced = "tcp://192.0.2.1:2375", false, false }, ""},
	} {
		if c.change != nil {
			c.change(&c.other)
		}
		err := c.other.conflict(first)
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, ErrNeighbour) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestABackendThatRunsIsFoundAndOneThatHasEndedIsNot(t *testing.T) {
	place, logger := "t-"+rand.Text(), slog.New(slog.DiscardHandler)
	one, err := Announce(t.Context(), place, neighbour("one", "leases", "10.214.0.0/16"), logger)
	if err != nil {
		t.Fatal(err)
	}
	two := neighbour("two", "leases", "10.214.0.0/16")
	closer, err := Announce(t.Context(), place, two, logger)
	if !errors.Is(err, ErrNeighbour) || !strings.Contains(err.Error(), ": one, which runs") {
		t.Errorf("%v", err)
	}
	if closer == nil {
		t.Fatal("who goes on is not announced")
	}
	_ = closer.Close()
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if closer, err = Announce(t.Context(), place, two, logger); err != nil {
		t.Fatalf("after its end: %v", err)
	}
	_ = closer.Close()
}

const placeOfChild = "BERTH_TEST_PLACE"

// beNeighbour is a backend that is killed.
func beNeighbour(place string) int {
	if _, err := Announce(context.Background(), place, neighbour("child", "leases", "10.214.0.0/16"), slog.New(slog.DiscardHandler)); err != nil {
		return 1
	}
	_, _ = os.Stdout.WriteString("there\n")
	<-time.After(time.Minute) // should nobody end it
	return 0
}

func TestNothingIsLeftOfABackendThatWasKilled(t *testing.T) {
	place := "t-" + rand.Text()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), placeOfChild+"="+place)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "there\n" {
		t.Fatalf("%q, %v", line, err)
	}
	self := neighbour("self", "leases", "10.215.0.0/16")
	closer, err := Announce(t.Context(), place, self, slog.New(slog.DiscardHandler))
	if !errors.Is(err, ErrNeighbour) {
		t.Errorf("while it runs: %v", err)
	}
	_ = closer.Close()
	_ = child.Process.Kill()
	_ = child.Wait()
	if closer, err = Announce(t.Context(), place, self, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatalf("after kill -9: %v", err)
	}
	_ = closer.Close()
}
