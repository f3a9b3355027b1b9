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
