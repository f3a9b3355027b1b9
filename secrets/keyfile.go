package secrets

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"filippo.io/age"
)

const (
	keyFileMode fs.FileMode = 0o600
	maxKeyFile              = 16 << 10
)

// CreateKeyFile makes a new master key, an age X25519 identity, and writes it to
// a file of mode 0600 that did not exist: there is never a part of it, and when
// it returns the file is durable. It returns the public half ("age1…"). A file
// that exists is fs.ErrExist and stays as it is.
func CreateKeyFile(path string) (recipient string, err error) {
	m, err := createKeyFile(path)
	if err != nil {
		return "", err
	}
	return m.recipient, nil
}

func createKeyFile(path string) (*master, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("make a master key: %w", err)
	}
	m, err := newMaster(id)
	if err != nil {
		return nil, err
	}
	dir, name, err := openKeyDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	temp, err := writeKey(dir, name, m)
	if err != nil {
		return nil, fmt.Errorf("create key file %s: %w", path, err)
	}
	// A link, unlike a rename, does not replace what is there.
	err = dir.Link(temp, name)
	if err = errors.Join(err, dir.Remove(temp), syncDir(dir)); err != nil {
		return nil, fmt.Errorf("create key file %s: %w", path, err)
	}
	return m, nil
}

// openKeyDir opens the directory of a key file.
func openKeyDir(path string) (dir *os.Root, name string, err error) {
	dir, err = os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, "", fmt.Errorf("open the directory of key file %s: %w", path, err)
	}
	return dir, filepath.Base(path), nil
}

// writeKey writes the key to a new file beside name, durably.
func writeKey(dir *os.Root, name string, m *master) (temp string, err error) {
	temp = "." + name + "." + rand.Text() + ".tmp"
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, keyFileMode)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "# master key of Berth's secrets: keep a copy where these secrets are not\n# public key: %s\n%s\n",
		m.recipient, m.identity)
	if err = errors.Join(err, f.Chmod(keyFileMode), f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, dir.Remove(temp))
	}
	return temp, nil
}

// readKeyFile reads a key file that nobody else can. A file that does not exist
// is fs.ErrNotExist.
func readKeyFile(path string) (*master, error) {
	dir, name, err := openKeyDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	// Without O_NONBLOCK a named pipe would hold us.
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open key file %s: %w", path, err)
	}
	defer f.Close()
	if err := checkKeyFile(f); err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrKeyFile, path, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	defer clear(text)
	if err != nil {
		return nil, fmt.Errorf("read key file %s: %w", path, err)
	}
	m, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrKeyFile, path, err)
	}
	return m, nil
}

// checkKeyFile looks at the open file, so that nobody can put another one there
// in between.
func checkKeyFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is no regular file (%s)", info.Mode().Type())
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("others may use it (mode %04o); chmod 0600 closes it", perm)
	}
	return checkOwner(info)
}

// parseKey reads lines, of which one is an identity and the others are empty or
// comments. Its errors tell nothing of what the lines hold.
func parseKey(text []byte) (*master, error) {
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("it is longer than %d bytes", maxKeyFile)
	}
	var found *age.X25519Identity
	for i, line := range bytes.Split(text, []byte("\n")) {
		s := strings.TrimSpace(string(line))
		if s == "" || s[0] == '#' {
			continue
		}
		id, err := age.ParseX25519Identity(s)
		if err != nil {
			return nil, fmt.Errorf("line %d is no X25519 identity (AGE-SECRET-KEY-1…)", i+1)
		}
		if found != nil {
			return nil, fmt.Errorf("line %d is a second identity", i+1)
		}
		found = id
	}
	if found == nil {
		return nil, errors.New("it holds no identity (AGE-SECRET-KEY-1…)")
	}
	return newMaster(found)
}

// installKeyFile puts a key in the place of the file's one, which stays beside
// it under the name that is returned. At every moment path is one of the two.
func installKeyFile(path string, was, now *master) (kept string, err error) {
	dir, name, err := openKeyDir(path)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	old := name + "." + was.recipient[len("age1"):][:8] + ".old"
	kept = filepath.Join(filepath.Dir(path), old)
	if err := dir.Link(name, old); errors.Is(err, fs.ErrExist) {
		there, err := readKeyFile(kept)
		if err != nil {
			return "", fmt.Errorf("keep the old key: %w", err)
		}
		if there.recipient != was.recipient {
			return "", fmt.Errorf("keep the old key: %s is there and holds another key; move it away", kept)
		}
	} else if err != nil {
		return "", fmt.Errorf("keep the old key as %s: %w", kept, err)
	}
	temp, err := writeKey(dir, name, now)
	if err != nil {
		return "", fmt.Errorf("replace key file %s: %w", path, err)
	}
	if err := dir.Rename(temp, name); err != nil {
		return "", fmt.Errorf("replace key file %s: %w", path, errors.Join(err, dir.Remove(temp)))
	}
	if err := syncDir(dir); err != nil {
		return "", fmt.Errorf("replace key file %s: %w", path, err)
	}
	return kept, nil
}

// removeKeyFile removes one that is no longer needed; without it it succeeds.
func removeKeyFile(path string) error {
	dir, name, err := openKeyDir(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(dir)
}

// syncDir makes names in the directory durable.
func syncDir(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
