package localdb_test

import (
	"errors"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/localdb"
)

func TestGroupsAreKeyedByTenantAndName(t *testing.T) {
	d := openNew(t)
	for _, g := range []localdb.Group{
		{Tenant: "bolt", Key: "web", InfraConfigHash: "b"},
		{Tenant: "acme", Key: "web", InfraConfigHash: "a", CreatedAt: epoch, UpdatedAt: epoch},
		{Tenant: "acme", Key: "db", InfraConfigHash: "d"},
	} {
		if err := d.SaveGroup(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	later := localdb.Group{Tenant: "acme", Key: "web", InfraConfigHash: "a2", CreatedAt: epoch.Add(time.Hour), UpdatedAt: epoch.Add(time.Hour)}
	if err := d.SaveGroup(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	later.CreatedAt = epoch
	if g, err := d.Group(t.Context(), "acme", "web"); err != nil || g != later {
		t.Errorf("%+v, %v; want %+v", g, err, later)
	}
	if g, err := d.Group(t.Context(), "bolt", "web"); err != nil || g.InfraConfigHash != "b" {
		t.Errorf("%+v, %v", g, err)
	}
	if g, err := d.Group(t.Context(), "bolt", "db"); !errors.Is(err, localdb.ErrNotFound) {
		t.Errorf("%+v, %v", g, err)
	}
	if all, err := d.Groups(t.Context(), "acme"); err != nil || len(all) != 2 || all[0].Key != "db" {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := d.Groups(t.Context(), ""); err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	for range 2 {
		if err := d.DeleteGroup(t.Context(), "acme", "web"); err != nil {
			t.Error(err)
		}
	}
	if all, err := d.Groups(t.Context(), ""); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := d.SaveGroup(t.Context(), localdb.Group{Key: "web"}); !errors.Is(err, localdb.ErrConflict) {
		t.Errorf("a group of nobody: %v", err)
	}
}

func TestAnOlderMeaningOfAnImageIsNotKept(t *testing.T) {
	d := openNew(t)
	for _, i := range []localdb.Image{
		{Name: "debian-13", ImageID: "second", ResolvedAt: epoch},
		{Name: "debian-13", ImageID: "first", ResolvedAt: epoch.Add(-time.Hour)},
		{Name: "alpine", ImageID: "other", ResolvedAt: epoch},
	} {
		if err := d.SaveImage(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	if i, err := d.Image(t.Context(), "debian-13"); err != nil || i.ImageID != "second" {
		t.Errorf("%+v, %v", i, err)
	}
	if i, err := d.Image(t.Context(), "none"); !errors.Is(err, localdb.ErrNotFound) {
		t.Errorf("%+v, %v", i, err)
	}
	if all, err := d.Images(t.Context()); err != nil || len(all) != 2 || all[0].Name != "alpine" {
		t.Errorf("%+v, %v", all, err)
	}
}
