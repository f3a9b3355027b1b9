package qemu_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra/qemu"
)

// Another program reads the volume. The kernel's reader is held to it by the guest that
// `make vm` boots.
func TestASeedIsAVolumeThatOthersRead(t *testing.T) {
	xorriso, err := exec.LookPath("xorriso")
	if err != nil {
		t.Skipf("xorriso reads what is written here: %v", err)
	}
	for name, size := range map[string]int{"nothing": 0, "a byte": 1, "a sector": 2048, "a sector and a byte": 2049, "the most": 256 << 10} {
		content := bytes.Repeat([]byte("x"), size)
		volume, err := qemu.IsoVolume("cidata", time.Now(), qemu.IsoFiles(map[string][]byte{"user-data": content, "meta-data": []byte("{}")}))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "seed.iso")
		if err := os.WriteFile(path, volume, 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := exec.CommandContext(t.Context(), xorriso, "-osirrox", "on", "-indev", path, "-pvd_info", "-extract", "/", dir+"/out").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, said)
		}
		if !strings.Contains(string(said), "Volume id    : 'cidata'") && !strings.Contains(string(said), "Volume Id    : cidata") {
			t.Errorf("%s: the volume has another label:\n%s", name, said)
		}
		found, err := filepath.Glob(dir + "/out/*")
		if err != nil || len(found) != 2 {
			t.Fatalf("%s: %v, %v", name, found, err)
		}
		for _, f := range found {
			want := []byte("{}")
			if strings.HasPrefix(strings.ToLower(filepath.Base(f)), "user-data") {
				want = content
			}
			if got, err := os.ReadFile(f); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %s has %d bytes, not %d, %v", name, filepath.Base(f), len(got), len(want), err)
			}
		}
	}
}

func TestWhatDoesNotFitASeedIsRefused(t *testing.T) {
	many := map[string][]byte{}
	for c := 'A'; c <= 'z'; c++ {
		many[strings.Repeat(string(c), 30)] = nil
	}
	for _, files := range []map[string][]byte{{"": nil}, {strings.Repeat("n", 31): nil}, many} {
		if _, err := qemu.IsoVolume("cidata", time.Now(), qemu.IsoFiles(files)); err == nil {
			t.Errorf("%d files fit", len(files))
		}
	}
}
