package store

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// errCrash is what every call answers from the crash on.
var errCrash = errors.New("the machine has stopped")

// disk is a directory that can lose power. It keeps what was written apart from
// what would survive: a file's content survives from its Sync on, a creation or
// rename from SyncDir on. What has not been synced may survive too, as on a real
// disk: crash lets the test decide for each.
type disk struct {
	names   map[string]*inode // as seen by the running program
	durable map[string]*inode // as synced
	steps   int               // calls that may still be made; the next one crashes
	torn    bool              // the crashing call takes half effect, where it can
}

type inode struct {
	data   []byte
	synced []byte
}

func newDisk() *disk {
	return &disk{names: map[string]*inode{}, durable: map[string]*inode{}, steps: -1}
}

func (d *disk) step() bool {
	if d.steps == 0 {
		return false
	}
	d.steps--
	return true
}

func (d *disk) Create(name string) (File, error) {
	if !d.step() {
		return nil, errCrash
	}
	n := d.names[name]
	if n == nil {
		n = &inode{}
		d.names[name] = n
	}
	n.data = nil
	return &openFile{d, n}, nil
}

func (d *disk) Rename(oldName, newName string) error {
	if !d.step() {
		return errCrash
	}
	n := d.names[oldName]
	if n == nil {
		return fs.ErrNotExist
	}
	delete(d.names, oldName)
	d.names[newName] = n
	return nil
}

func (d *disk) SyncDir() error {
	if !d.step() {
		return errCrash
	}
	d.durable = maps.Clone(d.names)
	return nil
}

func (d *disk) ReadFile(name string) ([]byte, error) {
	n := d.names[name]
	if n == nil {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(n.data), nil
}

type openFile struct {
	d *disk
	n *inode
}

func (f *openFile) Write(p []byte) (int, error) {
	if !f.d.step() {
		if f.d.torn {
			f.n.data = append(f.n.data, p[:len(p)/2]...)
		}
		return 0, errCrash
	}
	f.n.data = append(f.n.data, p...)
	return len(p), nil
}

func (f *openFile) Sync() error {
	if !f.d.step() {
		return errCrash
	}
	f.n.synced = bytes.Clone(f.n.data)
	return nil
}

func (f *openFile) Close() error {
	if !f.d.step() {
		return errCrash
	}
	return nil
}

// crash is the disk after the power is back. keep decides for everything that
// was not synced whether it survived by luck.
func (d *disk) crash(keep func(what string) bool) *disk {
	after := newDisk()
	for name, n := range d.names {
		if old, was := d.durable[name]; was && old != n && !keep("rename of "+name) {
			n = old
		} else if !was && !keep("creation of "+name) {
			continue
		}
		data := n.data
		if !bytes.Equal(n.data, n.synced) && !keep("content of "+name) {
			data = n.synced
		}
		after.names[name] = &inode{data: bytes.Clone(data), synced: bytes.Clone(data)}
	}
	for name, n := range d.durable {
		if _, there := d.names[name]; !there && !keep("removal of "+name) {
			after.names[name] = &inode{data: bytes.Clone(n.synced), synced: bytes.Clone(n.synced)}
		}
	}
	after.durable = maps.Clone(after.names)
	return after
}

func tableOf(version int64, service string) table.Table {
	t := table.Table{Protocol: table.Protocol, Owner: table.OwnerServer, Version: version, BootID: "b", Routes: []table.Route{{
		Service: service, Hosts: []string{"a.test"}, Path: "/", Targets: []table.Target{{ID: "c", Address: "10.0.0.1:80"}},
	}}}
	t.Normalize()
	return t
}

// The steps of one save: create, write, sync, close, rename, sync the directory.
const saveSteps = 6

func TestAfterACrashAtAnyStepTheOldOrTheNewTableIsThereWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDisk()
		if err := New(d).Save(tableOf(1, "first")); err != nil {
			t.Fatal(err)
		}
		d.steps = rapid.IntRange(0, saveSteps).Draw(t, "steps before the crash")
		d.torn = rapid.Bool().Draw(t, "torn write")
		saved := New(d).Save(tableOf(2, "second")) == nil
		after := d.crash(func(what string) bool { return rapid.Bool().Draw(t, what) })

		got, err := New(after).Load(table.OwnerServer)
		if err != nil || len(got) != 1 {
			t.Fatalf("after the crash: %d tables, %v", len(got), err)
		}
		switch {
		case got[0].Version == 2 && got[0].Routes[0].Service == "second":
		case got[0].Version == 1 && got[0].Routes[0].Service == "first" && !saved:
		default:
			t.Fatalf("after the crash (save returned success: %v): %+v", saved, got[0])
		}
		// And the next save works, whatever was left behind.
		if err := New(after).Save(tableOf(3, "third")); err != nil {
			t.Fatal(err)
		}
		again, err := New(after.crash(func(string) bool { return false })).Load(table.OwnerServer)
		if err != nil || len(again) != 1 || again[0].Version != 3 {
			t.Fatalf("after the next save: %+v, %v", again, err)
		}
	})
}

func TestASaveFailsWhenAnyOfItsStepsFails(t *testing.T) {
	for steps := range saveSteps {
		d := newDisk()
		d.steps = steps
		if err := New(d).Save(tableOf(1, "a")); !errors.Is(err, errCrash) {
			t.Errorf("with %d steps done: %v, want the failure", steps, err)
		}
	}
	d := newDisk()
	d.steps = saveSteps
	if err := New(d).Save(tableOf(1, "a")); err != nil {
		t.Errorf("a save takes more than %d steps: %v", saveSteps, err)
	}
}
