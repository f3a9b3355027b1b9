package daemon

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASocketThatIsServedIsNotTakenAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "berth.sock")
	first, err := ListenUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	if second, err := ListenUnix(t.Context(), path); !errors.Is(err, errSocketTaken) {
		t.Fatalf("a second daemon got %v, %v", second, err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatalf("the first one is out of reach: %v", err)
	}
	_ = conn.Close()
}

func TestASocketThatWasLeftBehindIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "berth.sock")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // as kill -9 leaves it
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := ListenUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAFileInPlaceOfTheSocketStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "berth.sock")
	if err := os.WriteFile(path, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := ListenUnix(t.Context(), path); err == nil {
		_ = l.Close()
		t.Fatal("a file was taken for a socket")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "notes" {
		t.Errorf("the file is now %q, %v", text, err)
	}
}

func TestAPathThatNoSocketCanHaveIsSaidAsSuch(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("d", 60), strings.Repeat("d", 60), "berth.sock")
	l, err := ListenUnix(t.Context(), path)
	if err == nil {
		_ = l.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "at most 107 bytes") {
		t.Errorf("%v", err)
	}
}

func TestTheFolderOfASocketIsNotMadeUnlessItIsTheDefaultOne(t *testing.T) {
	dir := t.TempDir()
	missing, file := filepath.Join(dir, "runn", "berth"), filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := ListenUnix(t.Context(), filepath.Join(missing, "s")); err == nil || !strings.Contains(err.Error(), missing+" of the socket does not exist") {
		t.Errorf("%v, %v", l, err)
	}
	if _, err := os.Stat(filepath.Dir(missing)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	if l, err := ListenUnix(t.Context(), filepath.Join(file, "s")); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("%v, %v", l, err)
	}
	if err := socketDir(missing, missing); err != nil {
		t.Errorf("the default one: %v", err)
	}
	if info, err := os.Stat(missing); err != nil || !info.IsDir() {
		t.Errorf("the default one: %v", err)
	}
}
