package secrets_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-cloud/berth/secrets"
	"github.com/berth-cloud/berth/secrets/vaulttest"
)

func openWith(t *testing.T, key string) error {
	_, err := secrets.OpenSealed(t.Context(), vaulttest.NewBlobs(), key)
	return err
}

func TestKeyFileIsClosedToOthersAndWhole(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := keyPath(t)
	recipient, err := secrets.CreateKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	info, serr := os.Stat(path)
	if err != nil || serr != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v, %v", info.Mode(), err, serr)
	}
	if !strings.HasPrefix(recipient, "age1") || !strings.Contains(string(text), "# public key: "+recipient+"\nAGE-SECRET-KEY-1") {
		t.Errorf("the file of %s is not what age reads", recipient)
	}
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
	if err := openWith(t, path); err != nil {
		t.Error(err)
	}
}

func TestKeyFileIsNeverOverwritten(t *testing.T) {
	path := keyPath(t)
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.CreateKeyFile(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created over a file: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the file became %q", text)
	}
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
	if _, err := secrets.CreateKeyFile(filepath.Join(path+".missing", "key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("created in a directory that is not there: %v", err)
	}
}

func TestKeyFileThatOthersMayUseIsRefused(t *testing.T) {
	for mode, fit := range map[os.FileMode]bool{
		0o600: true, 0o400: true, 0o700: true,
		0o640: false, 0o660: false, 0o604: false, 0o602: false, 0o601: false, 0o610: false, 0o644: false, 0o777: false,
	} {
		path := keyPath(t)
		if _, err := secrets.CreateKeyFile(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		err := openWith(t, path)
		if fit != (err == nil) || !fit && (!errors.Is(err, secrets.ErrKeyFile) || !strings.Contains(err.Error(), path)) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestKeyFileOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away; TestOwnerIsUs holds the rule itself")
	}
	path := keyPath(t)
	if _, err := secrets.CreateKeyFile(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	err := openWith(t, path)
	fails(t, "open", err, secrets.ErrKeyFile)
	if !strings.Contains(err.Error(), "12345") {
		t.Errorf("the error does not name the owner: %v", err)
	}
}

func TestKeyFileIsAFileInItsDirectory(t *testing.T) {
	dir := t.TempDir()
	target := keyPath(t)
	if _, err := secrets.CreateKeyFile(target); err != nil {
		t.Fatal(err)
	}
	pipe, link, folder, dangling := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "folder"), filepath.Join(dir, "dangling")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(target, link), os.Mkdir(folder, 0o700), os.Symlink("nowhere", dangling)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, folder, dangling} {
		if err := openWith(t, path); err == nil {
			t.Errorf("%s is taken for a key file", path)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a link led to a new key file")
	}
}

func TestKeyFileHoldsOneIdentity(t *testing.T) {
	path := keyPath(t)
	if _, err := secrets.CreateKeyFile(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	line := whole[strings.Index(whole, "AGE-"):]
	for name, tc := range map[string]struct {
		text string
		fit  bool
	}{
		"as it was made":       {whole, true},
		"identity alone":       {strings.TrimSpace(line), true},
		"other line ends":      {"# a comment\r\n\r\n  " + strings.TrimSpace(line) + "  \r\n", true},
		"nothing":              {"", false},
		"comments alone":       {"# " + line, false},
		"cut short":            {line[:len(line)-9], false},
		"two":                  {whole + line, false},
		"a public key":         {"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p\n", false},
		"something else":       {canary, false},
		"something else after": {whole + canary, false},
		"bytes":                {"\x00\xff\xfe", false},
		"too long":             {strings.Repeat("#\n", 20<<10) + line, false},
	} {
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := openWith(t, path)
		if tc.fit != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if !tc.fit {
			fails(t, name, err, secrets.ErrKeyFile)
			if err != nil && strings.Contains(err.Error(), line[16:30]) {
				t.Errorf("%s: the error holds the key: %v", name, err)
			}
		}
		if now, _ := os.ReadFile(path); string(now) != tc.text {
			t.Errorf("%s: the file was changed", name)
		}
	}
}
