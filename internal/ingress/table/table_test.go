package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func valid() Table {
	return Table{Protocol: Protocol, Owner: OwnerServer, Version: 1, Routes: []Route{{
		Service: "shop-web", Hosts: []string{"shop.test"}, Path: "/", HoldTimeout: time.Second, DrainTimeout: time.Second,
		Targets: []Target{{ID: "shop-web-1", Address: "10.210.0.5:8080"}},
	}}}
}

func TestAWrongTableIsRefusedWithWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Table)
		is     error
		says   string
	}{
		"another protocol":      {func(t *Table) { t.Protocol = 99 }, ErrProtocol, "99"},
		"unknown owner":         {func(t *Table) { t.Owner = "me" }, ErrInvalid, `"me"`},
		"no version":            {func(t *Table) { t.Version = 0 }, ErrInvalid, "version"},
		"no service":            {func(t *Table) { t.Routes[0].Service = "" }, ErrInvalid, "service"},
		"no host":               {func(t *Table) { t.Routes[0].Hosts = nil }, ErrInvalid, "host"},
		"upper case":            {func(t *Table) { t.Routes[0].Hosts[0] = "Shop.test" }, ErrInvalid, "lower case"},
		"a port in the host":    {func(t *Table) { t.Routes[0].Hosts[0] = "shop.test:80" }, ErrInvalid, "port"},
		"a space in the host":   {func(t *Table) { t.Routes[0].Hosts[0] = "shop test" }, ErrInvalid, "' '"},
		"a final dot":           {func(t *Table) { t.Routes[0].Hosts[0] = "shop.test." }, ErrInvalid, "dot"},
		"a relative path":       {func(t *Table) { t.Routes[0].Path = "api" }, ErrInvalid, `"api"`},
		"a query in the path":   {func(t *Table) { t.Routes[0].Path = "/a?b" }, ErrInvalid, "query"},
		"negative drain":        {func(t *Table) { t.Routes[0].DrainTimeout = -1 }, ErrInvalid, "drain"},
		"endless hold":          {func(t *Table) { t.Routes[0].HoldTimeout = 25 * time.Hour }, ErrInvalid, "hold"},
		"negative body":         {func(t *Table) { t.Routes[0].MaxBodyBytes = -1 }, ErrInvalid, "max_body_bytes"},
		"a name as address":     {func(t *Table) { t.Routes[0].Targets[0].Address = "web:80" }, ErrInvalid, "IP:port"},
		"port zero":             {func(t *Table) { t.Routes[0].Targets[0].Address = "10.0.0.1:0" }, ErrInvalid, "IP:port"},
		"no target id":          {func(t *Table) { t.Routes[0].Targets[0].ID = "" }, ErrInvalid, "id"},
		"negative weight":       {func(t *Table) { t.Routes[0].Targets[0].Weight = -1 }, ErrInvalid, "weight"},
		"a service twice":       {func(t *Table) { r := t.Routes[0]; r.Path = "/x"; r.Targets = nil; t.Routes = append(t.Routes, r) }, ErrInvalid, "two routes"},
		"a host and path twice": {func(t *Table) { r := t.Routes[0]; r.Service = "o"; r.Targets = nil; t.Routes = append(t.Routes, r) }, ErrInvalid, "shop.test/"},
		"a path twice but for the slash": {func(t *Table) {
			a, b := t.Routes[0], t.Routes[0]
			a.Path, b.Path, b.Service, b.Targets = "/x", "/x/", "o", nil
			t.Routes = []Route{a, b}
		}, ErrInvalid, "shop.test/x"},
		"a target twice": {func(t *Table) { r := t.Routes[0]; r.Service, r.Path = "o", "/o"; t.Routes = append(t.Routes, r) }, ErrInvalid, "shop-web-1"},
	} {
		tb := valid()
		c.change(&tb)
		tb.Normalize()
		err := tb.Validate()
		if !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v, want %v that says %s", name, err, c.is, c.says)
		}
	}
	tb := valid()
	tb.Normalize()
	if err := tb.Validate(); err != nil {
		t.Errorf("a valid table: %v", err)
	}
}

func TestNormalizedTablesOfEqualMeaningAreEqual(t *testing.T) {
	a, b := valid(), valid()
	a.Routes[0].Path, b.Routes[0].Path = "", "/"
	a.Routes[0].Targets[0].Weight, b.Routes[0].Targets[0].Weight = 0, 1
	a.Normalize()
	b.Normalize()
	ja, _ := json.Marshal(a)
	jb, _ := json.Marshal(b)
	if string(ja) != string(jb) {
		t.Errorf("%s\n%s", ja, jb)
	}
}

func TestAClaimOfAnotherOwnerIsRefused(t *testing.T) {
	theirs := valid()
	theirs.Owner = OwnerBackend
	for name, c := range map[string]struct {
		change func(*Route)
		is     error
	}{
		"the same host and path": {func(r *Route) { r.Service, r.Targets = "o", nil }, ErrClaimed},
		"another path":           {func(r *Route) { r.Service, r.Path, r.Targets = "o", "/api", nil }, nil},
		"the same service":       {func(r *Route) { r.Path, r.Targets = "/api", nil }, ErrInvalid},
		"the same target":        {func(r *Route) { r.Service, r.Path = "o", "/api" }, ErrInvalid},
	} {
		ours := valid()
		c.change(&ours.Routes[0])
		if err := ours.CheckMerge(theirs); !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %v", name, err, c.is)
		}
	}
	both := valid()
	both.Routes[0].Hosts = []string{"free.test", "shop.test", "www.shop.test"}
	both.Routes[0].Service, both.Routes[0].Targets = "o", nil
	theirs.Routes[0].Hosts = append(theirs.Routes[0].Hosts, "www.shop.test")
	var claimed *ClaimedError
	if err := both.CheckMerge(theirs); !errors.As(err, &claimed) || len(claimed.Claims) != 2 || claimed.Claims[1].Host != "www.shop.test" {
		t.Errorf("the claims of another owner are %+v", err)
	}
	again := valid()
	if err := again.CheckMerge(valid()); err != nil {
		t.Errorf("an owner's own older table: %v", err)
	}
}

func TestEveryRefusalSurvivesTheWire(t *testing.T) {
	for _, c := range codes {
		if got := FromCode(Code(fmt.Errorf("more: %w", c.err))); !errors.Is(got, c.err) {
			t.Errorf("%v came back as %v", c.err, got)
		}
	}
	if Code(errors.New("x")) != "internal" || FromCode("x") != nil {
		t.Error("an unknown error is taken for a known one")
	}
}
