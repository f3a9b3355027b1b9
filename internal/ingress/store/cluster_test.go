package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

func clusterAt(version int64, listen string) table.Cluster {
	return table.Cluster{
		Protocol: table.Protocol, Version: version, Listen: listen,
		Certificate: "certificate", Key: table.NewPrivateKey("key"), Roots: "roots", Denied: []string{"0a", "ff"},
	}
}

func TestAClusterComesBackWithItsKeyFromAFileOfItsUserAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tables")
	if c, err := openStore(t, dir).LoadCluster(); c != nil || err != nil {
		t.Errorf("before: %v, %v", c, err)
	}
	want := clusterAt(3, ":7443")
	if err := openStore(t, dir).SaveCluster(want); err != nil {
		t.Fatal(err)
	}
	got, err := openStore(t, dir).LoadCluster()
	if err != nil || !got.Same(&want) || got.Version != 3 || got.Key.Reveal() != "key" {
		t.Errorf("got %+v, %v", got, err)
	}
	info, err := os.Stat(filepath.Join(dir, clusterFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestADamagedClusterIsMovedAsideAndNothingOfItIsSaid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tables")
	s := openStore(t, dir)
	if err := s.SaveCluster(clusterAt(3, ":7443")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, clusterFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"key":"key"`, `"key":"kez"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := s.LoadCluster(); c != nil || !errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), "kez") {
		t.Errorf("got %v, %v", c, err)
	}
	if c, err := s.LoadCluster(); c != nil || err != nil {
		t.Errorf("the second time: %v, %v", c, err)
	}
}

// Whenever the machine stops, what is there afterwards is one of the two, whole, and the
// new one once SaveCluster has returned.
func TestAClusterSurvivesAStopAtAnyStep(t *testing.T) {
	for steps := 0; ; steps++ {
		d := newDisk()
		if err := New(d).SaveCluster(clusterAt(1, ":1")); err != nil {
			t.Fatal(err)
		}
		d.steps = steps
		saved := New(d).SaveCluster(clusterAt(2, ":2")) == nil
		d.names, d.steps = d.durable, -1
		for _, n := range d.names {
			n.data = n.synced
		}
		got, err := New(d).LoadCluster()
		if err != nil || got == nil || (got.Version != 2 && (saved || got.Version != 1)) {
			t.Errorf("after %d steps: %+v, %v, saved %t", steps, got, err, saved)
		}
		if saved {
			return
		}
	}
}
