package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const liveRestoreKey = "live-restore"

// ensureLiveRestore makes sure that the engine's configuration file asks for
// live-restore, and says what it found:
//
//	created   there was no file, or an empty one
//	added     the key was missing; every other key is kept
//	present   it was already on
//	off       somebody turned it off on purpose; nothing is changed
func ensureLiveRestore(path string) (string, error) {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(bytes.TrimSpace(old)) == 0 {
		return "created", replaceFile(path, []byte("{\n  \"live-restore\": true\n}\n"))
	}
	var config map[string]json.RawMessage
	if err := json.Unmarshal(old, &config); err != nil {
		return "", fmt.Errorf("%s is not a JSON object, so nothing was changed; correct it by hand and add \"live-restore\": true: %w", path, err)
	}
	if value, ok := config[liveRestoreKey]; ok {
		if string(bytes.TrimSpace(value)) == "true" {
			return "present", nil
		}
		return "off", nil
	}
	config[liveRestoreKey] = json.RawMessage("true")
	merged, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return "", err
	}
	return "added", replaceFile(path, append(merged, '\n'))
}

// replaceFile swaps the content in one step, so that an engine that starts
// meanwhile reads the old file or the new one.
func replaceFile(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(dir, ".daemon-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, werr := tmp.Write(content)
	if err := errors.Join(werr, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
