package store

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	fs, closer, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closer.Close() })
	return New(fs)
}

func TestEveryFieldOfATableComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tables")
	want := table.Table{
		Protocol: table.Protocol, Owner: table.OwnerBackend, Version: 9, BootID: "boot", EngineStart: "start",
		Routes: []table.Route{{
			Service: "s", Hosts: []string{"a.test", "b.test"}, Path: "/p", HoldTimeout: time.Second, DrainTimeout: time.Minute, MaxBodyBytes: 5,
			Targets: []table.Target{{ID: "c", Address: "10.0.0.1:80", Weight: 3, Node: "n"}},
		}},
	}
	for _, v := range []reflect.Value{reflect.ValueOf(want), reflect.ValueOf(want.Routes[0]), reflect.ValueOf(want.Routes[0].Targets[0])} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Fatalf("the test leaves %s.%s empty", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
	if err := openStore(t, dir).Save(want); err != nil {
		t.Fatal(err)
	}
	got, err := openStore(t, dir).Load(table.OwnerServer, table.OwnerBackend)
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	fi, err := os.Stat(filepath.Join(dir, "table-backend.json"))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want mode 0600", fi, err)
	}
}

func TestADamagedFileIsSetAsideAndTheOthersLoad(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	other := tableOf(4, "other")
	other.Owner = table.OwnerBackend
	for _, tb := range []table.Table{tableOf(1, "first"), other} {
		if err := s.Save(tb); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(dir, "table-server.json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range [][]byte{
		{},
		data[:len(data)/2],
		[]byte(`{"format":2}`),
		append([]byte(nil), replaceOnce(data, "first", "frist")...), // one table for another: the checksum sees it
	} {
		if err := os.WriteFile(name, damage, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := s.Load(table.OwnerServer, table.OwnerBackend)
		if !errors.Is(err, ErrDamaged) || len(got) != 1 || got[0].Version != 4 {
			t.Errorf("%.30q: %+v, %v", damage, got, err)
		}
		if _, err := os.Stat(name + ".damaged"); err != nil {
			t.Errorf("%.30q: it was not kept: %v", damage, err)
		}
		if got, err := s.Load(table.OwnerServer); err != nil || len(got) != 0 {
			t.Errorf("%.30q: the second load: %+v, %v", damage, got, err)
		}
	}
}

func replaceOnce(data []byte, from, to string) []byte {
	out := append([]byte(nil), data...)
	for i := range out {
		if i+len(from) <= len(out) && string(out[i:i+len(from)]) == from {
			copy(out[i:], to)
			return out
		}
	}
	return out
}
